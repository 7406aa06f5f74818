/* SPDX-License-Identifier: MIT */
/*
 * node.c - names and numbers of files
 *
 * A node number holds the row of the table, the cpu or option, and the instance. Numbers of instances are never reused,
 * so a node number of a removed instance names no file.
 *
 *	bits 0-15 row + 1, 16-31 index, 32-63 instance
 */
#include "tree/core/tree_internal.h"
#include "symbol/array.h"
#include "symbol/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static uft_node node_of(const struct instance *in, const struct row *row, uint32_t index)
{
	return (uint64_t)in->number << 32 | (uint64_t)index << 16 | (uint64_t)(row - in->t->table->row + 1);
}

int node_place(struct uft_tree *t, uft_node node, struct place *out)
{
	uint64_t row = node & 0xffff;

	*out = (struct place){ .t = t, .index = (uint32_t)(node >> 16) & 0xffff };
	if (!row || row > t->table->nrows)
		return -ENOENT;
	out->row = &t->table->row[row - 1];
	for (out->in = t->instances; out->in; out->in = out->in->next)
		if (out->in->number == node >> 32 && !out->in->is_going)
			return 0;
	return -ENOENT;
}

/* ---- The table as directories ---------------------------------------------------------------- */

static int is_child(const struct row *dir, const struct row *row)
{
	size_t n = strlen(dir->pub.path), len = (size_t)(uft_base_name(row->pub.path) - row->pub.path);

	if (!row->pub.path[0])
		return 0;
	if (!n)
		return !len;
	return len == n + 1 && !memcmp(dir->pub.path, row->pub.path, n);
}

static int is_here(const struct row *row, const struct instance *in)
{
	return !in->number || !(row->pub.scope & UFT_SCOPE_TOP);
}

static int has_variants(const struct row *row)
{
	return strchr(uft_base_name(row->pub.path), '%') != NULL;
}

/* How many values `%` has in a name of this row below @dir; 1: the name has none. */
static uint32_t variants(const struct place *dir, const struct row *row)
{
	const struct uft_event_table *types = tree_types(dir->t);

	if (!has_variants(row))
		return 1;
	return row->pub.scope & UFT_SCOPE_CPU ? tree_ncpus(dir->t) : row->pub.scope & UFT_SCOPE_OPTION ?
		option_count() :
	       row->pub.scope & UFT_SCOPE_EVENT ? uft_event_table_members(types, dir->index) :
	       row->pub.scope & UFT_SCOPE_SYSTEM ? uft_event_table_systems(types) : 0;
}

/* A file below `cpu%` is about the cpu of its directory; one that has a `%` itself about its own. */
static uint32_t index_of(const struct place *dir, const struct row *row, uint32_t variant)
{
	if (!has_variants(row))
		return dir->index;
	return row->pub.scope & UFT_SCOPE_EVENT ? uft_event_table_member(tree_types(dir->t), dir->index, variant) :
		variant;
}

/* 0: there is no such entry, because its type was removed just now. */
static int name_of(const struct uft_tree *t, const struct row *row, uint32_t index, char name[UFT_TREE_NAME])
{
	const char *part = uft_base_name(row->pub.path), *mark = strchr(part, '%');
	const struct uft_event_type *type;

	if (!mark)
		snprintf(name, UFT_TREE_NAME, "%s", part);
	else if (row->pub.scope & UFT_SCOPE_CPU)
		snprintf(name, UFT_TREE_NAME, "%.*s%u%s", (int)(mark - part), part, index, mark + 1);
	else if (row->pub.scope & UFT_SCOPE_EVENT) {
		type = uft_event_table_at(tree_types(t), index);
		if (!type)
			return 0;
		snprintf(name, UFT_TREE_NAME, "%s", type->name);
	} else if (row->pub.scope & UFT_SCOPE_SYSTEM)
		snprintf(name, UFT_TREE_NAME, "%s", uft_event_table_system(tree_types(t), index));
	else
		snprintf(name, UFT_TREE_NAME, "%s", option_name(index));
	return 1;
}

/* The directory of a system, of one of its events. */
static uint32_t index_above(const struct place *at, const struct row *dir)
{
	const struct uft_event_type *type =
		at->row->pub.scope & UFT_SCOPE_EVENT ? uft_event_table_at(tree_types(at->t), at->index) : NULL;

	return type && dir->pub.scope & UFT_SCOPE_SYSTEM ? type->system_index : at->index;
}

/* An instance has no files of some options. */
static int is_left_out(const struct place *dir, const struct row *row, uint32_t index)
{
	return row->pub.scope & UFT_SCOPE_OPTION && dir->in->number && option_is_top(index);
}

static int is_one_of_types(const struct row *row)
{
	return has_variants(row) && row->pub.scope & (UFT_SCOPE_EVENT | UFT_SCOPE_SYSTEM);
}

/*
 * Finds the entry of an event type by a hash, since there are many types. Returns 0: not an entry of this row.
 */
static int find_type(const struct place *dir, const struct row *row, const char *name, uint32_t *index)
{
	const struct uft_event_table *types = tree_types(dir->t);
	const char *system = uft_event_table_system(types, dir->index);
	const struct uft_event_type *type;

	if (row->pub.scope & UFT_SCOPE_EVENT) {
		type = system ? uft_event_table_find(types, system, strlen(system), name, strlen(name)) : NULL;
		*index = type ? type->index : 0;
		return type != NULL;
	}
	*index = uft_event_table_find_system(types, name, strlen(name));
	return *index != UINT32_MAX;
}

/* 1: *@out is the entry @name of @dir. t->lock held. */
static int find_entry(const struct place *dir, const char *wanted, uft_node *out)
{
	const struct row *rows = dir->t->table->row;
	char name[UFT_TREE_NAME];
	uint32_t index;

	for (size_t i = 0; i < dir->t->table->nrows; i++) {
		const struct row *row = &rows[i];

		if (!is_child(dir->row, row) || !is_here(row, dir->in))
			continue;
		if (is_one_of_types(row)) {
			if (!find_type(dir, row, wanted, &index))
				continue;
			*out = node_of(dir->in, row, index);
			return 1;
		}
		for (uint32_t k = 0; k < variants(dir, row); k++) {
			index = index_of(dir, row, k);
			name_of(dir->t, row, index, name);
			if (strcmp(name, wanted) || is_left_out(dir, row, index))
				continue;
			*out = node_of(dir->in, row, index);
			return 1;
		}
	}
	for (struct instance *in = dir->t->instances; in && dir->row->flags & ROW_NAMES; in = in->next)
		if (in->number && !in->is_going && !strcmp(in->name, wanted)) {
			*out = node_of(in, &rows[0], 0);
			return 1;
		}
	return 0;
}

/* 1: *@out, @name are the entry behind @left others of @dir. t->lock held. */
static int take_entry(const struct place *dir, size_t left, char name[UFT_TREE_NAME], uft_node *out)
{
	const struct row *rows = dir->t->table->row;
	for (size_t i = 0; i < dir->t->table->nrows; i++) {
		const struct row *row = &rows[i];
		uint32_t n = is_child(dir->row, row) && is_here(row, dir->in) ? variants(dir, row) : 0, k = 0, index;

		if (is_one_of_types(row)) {
			k = left < n ? (uint32_t)left : n;
			left -= k;
		}
		for (; k < n; k++) {
			index = index_of(dir, row, k);
			if (is_left_out(dir, row, index) || left--)
				continue;
			if (name_of(dir->t, row, index, name)) {
				*out = node_of(dir->in, row, index);
				return 1;
			}
			left = 0;
		}
	}
	for (struct instance *in = dir->t->instances; in && dir->row->flags & ROW_NAMES; in = in->next)
		if (in->number && !in->is_going && !left--) {
			snprintf(name, UFT_TREE_NAME, "%s", in->name);
			*out = node_of(in, &rows[0], 0);
			return 1;
		}
	return 0;
}

static int place_of_dir(struct uft_tree *t, uft_node node, struct place *out)
{
	int ret = node_place(t, node, out);

	return ret ? ret : S_ISDIR(out->row->pub.mode) ? 0 : -ENOTDIR;
}

int uft_tree_lookup(struct uft_tree *t, uft_node dir, const char *name, uft_node *out)
{
	struct place at;
	int ret;

	*out = 0;
	if (strlen(name) >= UFT_TREE_NAME) /* GUARD(name_bound, 0) */
		return -ENAMETOOLONG;
	pthread_mutex_lock(&t->lock);
	ret = place_of_dir(t, dir, &at);
	if (!ret)
		ret = find_entry(&at, name, out) ? 0 : -ENOENT;
	pthread_mutex_unlock(&t->lock);
	return ret;
}

int uft_tree_walk(struct uft_tree *t, const char *path, uft_node *out)
{
	char name[UFT_TREE_NAME];
	int ret = 0;

	*out = UFT_TREE_ROOT;
	while (!ret && path[strspn(path, "/")]) {
		size_t n;

		path += strspn(path, "/");
		n = strcspn(path, "/");
		if (n >= sizeof(name))
			return -ENAMETOOLONG;
		memcpy(name, path, n);
		name[n] = '\0';
		if (!strcmp(name, ".."))
			ret = uft_tree_parent(t, *out, out);
		else if (strcmp(name, "."))
			ret = uft_tree_lookup(t, *out, name, out);
		path += n;
	}
	return ret;
}

int uft_tree_readdir(struct uft_tree *t, uft_node dir, size_t i, char name[UFT_TREE_NAME], uft_node *out)
{
	struct place at;
	int ret;

	*out = 0;

	pthread_mutex_lock(&t->lock);
	ret = place_of_dir(t, dir, &at);
	if (!ret)
		ret = take_entry(&at, i, name, out);
	pthread_mutex_unlock(&t->lock);
	return ret;
}

int uft_tree_parent(struct uft_tree *t, uft_node node, uft_node *out)
{
	const struct row *rows = t->table->row;
	struct place at;
	int ret;

	pthread_mutex_lock(&t->lock);
	ret = node_place(t, node, &at);
	*out = UFT_TREE_ROOT;
	for (size_t i = 0; !ret && i < t->table->nrows; i++) {
		if (at.row == &rows[0] && at.in->number && rows[i].flags & ROW_NAMES)
			*out = node_of(t->instances, &rows[i], 0);
		else if (is_child(&rows[i], at.row))
			*out = node_of(at.in, &rows[i],
				       !strchr(uft_base_name(rows[i].pub.path), '%') ? 0 : index_above(&at, &rows[i]));
	}
	pthread_mutex_unlock(&t->lock);
	return ret;
}

/* ---- Attributes ------------------------------------------------------------------------------ */

static uint32_t mode_of(const struct place *at)
{
	return at->row == &at->t->table->row[0] && at->in->number ? S_IFDIR | 0750 : at->row->pub.mode;
}

/* The attributes set by chmod and chown; NULL: none. t->lock held. */
static struct node_attr *attr_of(struct instance *in, uft_node node)
{
	for (size_t i = 0; i < in->nattrs; i++)
		if (in->attr[i].node == node)
			return &in->attr[i];
	return NULL;
}

/* The default of @at in a new entry. NULL: no memory. t->lock held. */
static struct node_attr *attr_add(const struct place *at, uft_node node)
{
	struct instance *in = at->in;

	if (array_resize(in->attr, in->nattrs + 1))
		return NULL;
	in->attr[in->nattrs] = (struct node_attr){ .node = node, .mode = mode_of(at), .uid = getuid(),
		.gid = getgid() };
	return &in->attr[in->nattrs++];
}

int uft_tree_setattr(struct uft_tree *t, uft_node node, mode_t mode, uid_t uid, gid_t gid)
{
	struct node_attr *a = NULL;
	struct place at;
	int ret;

	pthread_mutex_lock(&t->lock);
	ret = node_place(t, node, &at);
	if (!ret) {
		a = attr_of(at.in, node);
		a = a ? a : attr_add(&at, node);
		ret = a ? 0 : -ENOMEM;
	}
	if (a) {
		a->mode = mode == (mode_t)-1 ? a->mode : (a->mode & S_IFMT) | (mode & 07777);
		a->uid = uid == (uid_t)-1 ? a->uid : uid;
		a->gid = gid == (gid_t)-1 ? a->gid : gid;
	}
	pthread_mutex_unlock(&t->lock);
	return ret;
}

int uft_tree_getattr(struct uft_tree *t, uft_node node, struct uft_tree_attr *out)
{
	const struct node_attr *a;
	struct place at;
	int ret;

	pthread_mutex_lock(&t->lock);
	ret = node_place(t, node, &at);
	if (!ret) {
		a = attr_of(at.in, node);
		*out = (struct uft_tree_attr){
			.mode = a ? a->mode : mode_of(&at), .uid = a ? a->uid : getuid(), .gid = a ? a->gid : getgid(),
			.nlink = S_ISDIR(at.row->pub.mode) ? 2 : 1, .flags = at.row->attr, .mtime_ns = at.in->mtime_ns,
			.doc = at.row->pub.doc,
		};
	}
	pthread_mutex_unlock(&t->lock);
	return ret;
}

/* SPDX-License-Identifier: MIT */
/* recorded.c - see recorded.h */
#include "symbol/now.h"
#include "symbol/recorded.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "symbol/open_regular.h"

#define NAME_BYTES	96u	/* about, of a function with its name */

static int has_room(struct recorded_files *r)
{
	const uint64_t now = now_ns() / 1000000;

	r->begin_ms = r->begin_ms ? r->begin_ms : now;
	/* GUARD(recorded_bound, 1) */
	return r->misses < RECORDED_MAX_MISSES && r->bytes < RECORDED_MAX_BYTES && now - r->begin_ms < RECORDED_MAX_MS;
}

static int is_recorded(const struct uft_object *real, const struct uft_object *obj)
{
	if (obj->build_id_len)
		return real->build_id_len == obj->build_id_len &&
		       !memcmp(real->build_id, obj->build_id, obj->build_id_len);
	return !real->build_id_len && real->file_bytes == obj->file_bytes && real->mtime_ns == obj->mtime_ns;
}

/* Checks the file without opening it. 0, or as recorded_open(). */
static int look(struct recorded_files *r, const struct uft_object *obj)
{
	struct stat st;
	int fd = obj->path[0] == '/' ? open_place(obj->path, OPEN_FOLLOW) : -ENOENT, ret = 0;

	if (fd < 0)
		return -ENOENT;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		ret = -ENOENT;
	else if (!obj->build_id_len && (obj->file_bytes != (uint64_t)st.st_size || obj->mtime_ns != file_mtime_ns(&st)))
		ret = -ESTALE;
	else if (can_others_write(fd, &st) && (uint64_t)st.st_size > RECORDED_MAX_BYTES - r->bytes)
		ret = -EDQUOT;
	else if (can_others_write(fd, &st))
		r->bytes += (uint64_t)st.st_size;
	close(fd);
	return ret;
}

int recorded_open(struct recorded_files *r, const struct uft_object *obj, struct uft_object **real)
{
	int ret;

	*real = NULL;
	if (!has_room(r))
		return -EDQUOT;
	ret = look(r, obj);
	if (!ret) {
		ret = uft_object_open(obj->path, real, NULL);
		ret = ret && ret != -ENOMEM ? -ESTALE : ret;
	}
	if (!ret && !is_recorded(*real, obj)) {
		uft_object_put(*real);
		*real = NULL;
		ret = -ESTALE;
	}
	r->misses += ret == -ENOENT || ret == -ESTALE;
	return ret;
}

void recorded_keep(struct recorded_files *r, const struct uft_object *real)
{
	r->bytes += real->nfunc * (uint64_t)NAME_BYTES;
}

// SPDX-License-Identifier: MIT
/* targets.c - running processes as the user names them; see targets.h */
#include "cmd/targets.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/proc/proc.h"
#include "control/proc/proc_list.h"
#include "symbol/array.h"
#include "symbol/names.h"

#define CGROUPS		"/sys/fs/cgroup"
#define CGROUP_DEPTH	16

static int add(struct cmd_targets *t, pid_t pid, int is_found, struct uft_error *err)
{
	t->nfound++;
	for (size_t i = 0; i < t->n; i++)
		if (t->item[i].pid == pid)
			return 0;
	if (array_resize(t->item, t->n + 1))
		return uft_fail(err, -ENOMEM, "out of memory");
	t->item[t->n++] = (struct target_pid){ pid, is_found };
	return 0;
}

static int add_numbers(struct cmd_targets *t, const char *text, struct uft_error *err)
{
	const char *p = text;

	do {
		char *end;
		long pid = strtol(p, &end, 10);
		int ret;

		if (end == p || pid <= 0 || pid > INT_MAX || (*end && *end != ','))
			return uft_fail(err, -EINVAL, "'%s' is not a list of process numbers like 1200,1204", text);
		ret = add(t, (pid_t)pid, 0, err);
		if (ret)
			return ret;
		p = end + (*end == ',');
	} while (*p);
	return 0;
}

/* ---- By name ------------------------------------------------------------------------------- */

static int has_name(pid_t pid, const char *name)
{
	char path[64], text[PATH_MAX] = "", *base;
	int same = 0;

	if (proc_read_file(pid, "comm", text, sizeof(text)) > 0) {
		text[strcspn(text, "\n")] = '\0';
		same = strcmp(text, name) == 0;
	}
	if (same || !strcmp(text, "uft-agent") || !strcmp(text, "uft-guard"))
		return same;
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	memset(text, 0, sizeof(text));
	if (readlink(path, text, sizeof(text) - 1) <= 0)
		return 0;
	base = strrchr(text, '/');
	return base && strcmp(base + 1, name) == 0;
}

unsigned cmd_targets_left_out(const struct cmd_targets *t, pid_t pid, char *name, size_t size)
{
	char file[64];
	unsigned n = 0;
	int child;
	FILE *f;

	if (proc_read_file(pid, "comm", name, size) <= 0)
		name[0] = '\0';
	name[strcspn(name, "\n")] = '\0';
	/* none where the kernel was built without: nothing is said */
	snprintf(file, sizeof(file), "task/%d/children", pid);
	f = proc_fopen(pid, file);
	while (f && name[0] && fscanf(f, "%d", &child) == 1) {
		size_t i = 0;

		while (i < t->n && t->item[i].pid != child)
			i++;
		n += i == t->n && has_name(child, name);
	}
	if (f)
		fclose(f);
	uft_name_clean(name);
	return n;
}

static int add_named(struct cmd_targets *t, const char *name, struct uft_error *err)
{
	DIR *d = proc_list(0);
	pid_t pid;
	int ret = 0;

	while (!ret && (pid = proc_list_next(d)))
		if (pid != getpid() && has_name(pid, name))
			ret = add(t, pid, 1, err);
	proc_list_end(d);
	return ret;
}

/* ---- By cgroup ----------------------------------------------------------------------------- */

/* uft itself and the tasks it has made may be in there as well. */
static int is_uft(pid_t pid)
{
	char path[64], own[PATH_MAX] = "", its[PATH_MAX] = "";

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return has_name(pid, "uft-agent") || (readlink("/proc/self/exe", own, sizeof(own) - 1) > 0 &&
					      readlink(path, its, sizeof(its) - 1) > 0 && !strcmp(own, its));
}

static int add_members(struct cmd_targets *t, const char *dir, struct uft_error *err)
{
	char path[PATH_MAX];
	long pid;
	int ret = 0, n;
	FILE *f;

	if ((size_t)snprintf(path, sizeof(path), "%s/cgroup.procs", dir) >= sizeof(path))
		return 0;
	f = fopen(path, "re");
	errno = f ? 0 : errno;
	while (f && !ret && (n = fscanf(f, "%ld", &pid)) == 1)
		if (pid > 0 && !is_uft((pid_t)pid))		/* 0: of another pid namespace */
			ret = add(t, (pid_t)pid, 1, err);
	if (!ret && (!f || ferror(f)))
		ret = uft_fail(err, -errno,
			       errno == EOPNOTSUPP ? "the cgroup '%s' is threaded: name the one above it that "
			       "has the processes" : "the cgroup '%s' cannot be read: %s", dir, strerror(errno));
	if (f)
		fclose(f);
	return ret;
}

/*
 * Adds the processes of a cgroup and those below, which may vanish, or be threaded: then the parent has the
 * processes.
 */
static int add_cgroup(struct cmd_targets *t, const char *dir, int depth, struct uft_error *err)
{
	int ret = add_members(t, dir, err);
	DIR *d = ret || depth == CGROUP_DEPTH ? NULL : opendir(dir);
	struct dirent *e;

	while (d && !ret && (e = readdir(d))) {
		char path[PATH_MAX];

		if (e->d_type == DT_DIR && e->d_name[0] != '.' &&
		    (size_t)snprintf(path, sizeof(path), "%s/%s", dir, e->d_name) < sizeof(path))
			ret = add_cgroup(t, path, depth + 1, err);
	}
	if (d)
		closedir(d);
	return ret == -ENOMEM || !depth ? ret : 0;
}

/* The folder of the cgroup that @text names; 0: none does. */
static int find_cgroup(const char *text, char *dir, size_t size)
{
	const char *roots[] = { "", CGROUPS, CGROUPS "/unified" };
	char procs[PATH_MAX + 16];

	text += strncmp(text, "0::", 3) ? 0 : 3;		/* the line of /proc/PID/cgroup */
	for (size_t i = text[0] == '/' ? 0 : 1; i < sizeof(roots) / sizeof(roots[0]); i++) {
		snprintf(dir, size, "%s%s%s", roots[i], text[0] == '/' ? "" : "/", text);
		snprintf(procs, sizeof(procs), "%s/cgroup.procs", dir);
		if (text[strspn(text, "/")] && access(procs, F_OK) == 0)
			return 1;
	}
	return 0;
}

/* ---- Any ------------------------------------------------------------------------------------ */

/* Without a kind, the kind of the first match decides. */
static int search(struct cmd_targets *t, struct target_search *s, struct uft_error *err)
{
	int is_path = s->kind == TARGET_CGROUP || (s->kind == TARGET_ANY && strchr(s->text, '/')), ret;
	char dir[PATH_MAX];
	size_t had = t->nfound;

	ret = is_path ? 0 : add_named(t, s->text, err);
	if (!ret && t->nfound == had && s->kind == TARGET_NAME)
		return uft_fail(err, -ESRCH, "no process is called '%s'", s->text);
	if (ret || t->nfound > had) {
		s->kind = TARGET_NAME;
		return ret;
	}
	if (find_cgroup(s->text, dir, sizeof(dir))) {
		s->kind = TARGET_CGROUP;
		ret = add_cgroup(t, dir, 0, err);
		return ret || t->nfound > had ? ret : uft_fail(err, -ESRCH, "the cgroup '%s' has no process", s->text);
	}
	return uft_fail(err, -ESRCH, s->kind == TARGET_CGROUP ? "there is no cgroup '%s' below " CGROUPS :
			"no process is called '%s', and no cgroup below " CGROUPS " either", s->text);
}

int cmd_targets_add(struct cmd_targets *t, int kind, const char *text, struct uft_error *err)
{
	int ret;

	if (kind == TARGET_ANY && text[0] >= '0' && text[0] <= '9' && !text[strspn(text, "0123456789,")])
		return add_numbers(t, text, err);
	if (text[0] == '-' || !text[0])
		return uft_fail(err, -EINVAL, "'%s' is neither a process number nor a name nor a cgroup", text);
	if (array_resize(t->search, t->nsearches + 1))
		return uft_fail(err, -ENOMEM, "out of memory");
	t->search[t->nsearches] = (struct target_search){ text, kind };
	ret = search(t, &t->search[t->nsearches], err);
	t->nsearches += !ret;
	return ret;
}

size_t cmd_targets_renew(struct cmd_targets *t)
{
	struct uft_error unused;
	size_t had = t->n;

	for (size_t i = 0; i < t->nsearches; i++)
		search(t, &t->search[i], &unused);
	return t->n - had;
}

void cmd_targets_free(struct cmd_targets *t)
{
	free(t->item);
	free(t->search);
}

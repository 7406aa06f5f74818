// SPDX-License-Identifier: MIT
/* targets.c - running processes as the user names them; see targets.h */
#include "cmd/targets.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CGROUPS		"/sys/fs/cgroup"
#define CGROUP_DEPTH	16

static int add(struct cmd_targets *t, pid_t pid, int is_found, struct uft_error *err)
{
	struct target_pid *more;

	for (size_t i = 0; i < t->n; i++)
		if (t->item[i].pid == pid)
			return 0;
	more = realloc(t->item, (t->n + 1) * sizeof(*more));
	if (!more)
		return uft_fail(err, -ENOMEM, "out of memory");
	t->item = more;
	more[t->n++] = (struct target_pid){ pid, is_found, !kill(pid, 0) || errno == EPERM };
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
	FILE *f;
	int same = 0;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "re");
	if (f) {
		same = fgets(text, sizeof(text), f) && (text[strcspn(text, "\n")] = '\0', strcmp(text, name) == 0);
		fclose(f);
	}
	if (same || !strcmp(text, "uft-agent"))
		return same;
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	memset(text, 0, sizeof(text));
	if (readlink(path, text, sizeof(text) - 1) <= 0)
		return 0;
	base = strrchr(text, '/');
	return base && strcmp(base + 1, name) == 0;
}

static int add_named(struct cmd_targets *t, const char *name, struct uft_error *err)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int ret = 0;

	while (d && !ret && (e = readdir(d))) {
		pid_t pid = (pid_t)atoi(e->d_name);

		if (pid > 0 && pid != getpid() && has_name(pid, name))
			ret = add(t, pid, 1, err);
	}
	if (d)
		closedir(d);
	return ret;
}

/* ---- By cgroup ----------------------------------------------------------------------------- */

static int add_members(struct cmd_targets *t, const char *dir, struct uft_error *err)
{
	char path[PATH_MAX];
	long pid;
	int ret = 0;
	FILE *f;

	if ((size_t)snprintf(path, sizeof(path), "%s/cgroup.procs", dir) >= sizeof(path))
		return 0;
	f = fopen(path, "re");
	while (f && !ret && fscanf(f, "%ld", &pid) == 1)
		if (pid > 0 && pid != getpid())		/* 0: of another pid namespace */
			ret = add(t, (pid_t)pid, 1, err);
	if (f)
		fclose(f);
	return ret;
}

/* A cgroup and those below it. */
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
	return ret;
}

/* The folder of the cgroup that @text names; 0: none does. */
static int find_cgroup(const char *text, char *dir, size_t size)
{
	const char *roots[] = { CGROUPS, CGROUPS "/unified" };
	char procs[PATH_MAX + 16];

	text += strncmp(text, CGROUPS "/", strlen(CGROUPS "/")) ? 0 : strlen(CGROUPS "/");
	text += strspn(text, "/");
	for (size_t i = 0; *text && i < sizeof(roots) / sizeof(roots[0]); i++) {
		snprintf(dir, size, "%s/%s", roots[i], text);
		snprintf(procs, sizeof(procs), "%s/cgroup.procs", dir);
		if (access(procs, F_OK) == 0)
			return 1;
	}
	return 0;
}

int cmd_targets_add(struct cmd_targets *t, const char *text, struct uft_error *err)
{
	char dir[PATH_MAX];
	size_t had = t->n;
	int is_cgroup, ret;

	if (text[0] >= '0' && text[0] <= '9' && !text[strspn(text, "0123456789,")])
		return add_numbers(t, text, err);
	if (text[0] == '-' || !text[0])
		return uft_fail(err, -EINVAL, "'%s' is neither a process number nor a name nor a cgroup", text);
	ret = strchr(text, '/') ? 0 : add_named(t, text, err);
	is_cgroup = !ret && t->n == had && find_cgroup(text, dir, sizeof(dir));
	if (is_cgroup)
		ret = add_cgroup(t, dir, 0, err);
	if (ret || t->n > had)
		return ret;
	return uft_fail(err, -ESRCH, is_cgroup ? "the cgroup '%s' has no process" :
			"no process is called '%s', and no cgroup below " CGROUPS " either", text);
}

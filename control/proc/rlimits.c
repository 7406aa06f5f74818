// SPDX-License-Identifier: MIT
/*
 * rlimits.c - explain which resource limit of a process prevents tracing, and how to raise it
 *
 * The kernel says -ENOMEM, -EMFILE or -EAGAIN, and so do other things. A limit is named only if it is so low
 * that it must be the reason. Only the limit of address space is lifted, of a program that begins: its runtime has it
 * follow what is ours (runtime/platform/linux/limit.c). Of a running process what we map stays the process's, and its
 * own later mappings would fail instead.
 */
#include "control/proc/cgroup.h"
#include "control/proc/proc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MB		(1ull << 20)
#define AGENT_FDS	6		/* its own, none of the program's */
#define FIRST_USER_NS	0xeffffffd	/* PROC_USER_INIT_INO */
#define LIMITLESS_CAPS	(1l << 21 | 1l << 24)	/* CAP_SYS_ADMIN, CAP_SYS_RESOURCE */
#define DATA_BYTES	(32 * MB)	/* of ours that count as data, before threads have theirs */

static uint64_t limit_of(pid_t pid, int resource)
{
	struct rlimit lim = { RLIM_INFINITY, RLIM_INFINITY };

	prlimit(pid, resource, NULL, &lim);
	return lim.rlim_cur == RLIM_INFINITY ? UINT64_MAX : lim.rlim_cur;
}

/* Would it be exceeded by so much more? */
static int is_short(pid_t pid, int resource, const char *field, uint64_t bytes, uint64_t *limit)
{
	long kb = proc_status_number(pid ? pid : getpid(), field, 10);

	*limit = limit_of(pid, resource);
	return *limit != UINT64_MAX && (kb < 0 ? 0 : (uint64_t)kb << 10) + bytes > *limit;
}

/* Are its user ids and capabilities those of the machine? */
static int is_in_first_user_ns(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	return stat(path, &st) == 0 && st.st_ino == FIRST_USER_NS;
}

/*
 * RLIMIT_NPROC does not hold for root, nor with CAP_SYS_RESOURCE or CAP_SYS_ADMIN: copy_process(). Root of a
 * container is neither.
 */
static uint64_t task_limit(pid_t pid)
{
	if (is_in_first_user_ns(getpid()) && proc_status_number(pid, "Uid", 10) == 0)
		return UINT64_MAX;
	if (is_in_first_user_ns(pid) && proc_status_number(pid, "CapEff", 16) & LIMITLESS_CAPS)
		return UINT64_MAX;
	return limit_of(pid, RLIMIT_NPROC);
}

const char *rlimits_explain_tasks(pid_t pid, uint64_t limit, char *why, size_t size)
{
	char file[216], dir[200] = "";

	cgroup_dir(pid ? pid : getpid(), "pids", dir, sizeof(dir));
	snprintf(file, sizeof(file), "%s%spids.max", dir, *dir ? "/" : "");
	if (limit == UINT64_MAX)
		snprintf(why, size,
			 "its cgroup, or one above it, has as many tasks as it may (%s), or the machine has (kernel.threads-max)",
			 file);
	else
		snprintf(why, size,
			 "its user has as many threads as it may, %llu (RLIMIT_NPROC), or its cgroup has (%s)",
			 (unsigned long long)limit, file);
	return limit == UINT64_MAX ? NULL : "nproc";
}

int rlimits_make_room(pid_t pid, const struct uft_limits *known, struct uft_limits *program, struct rlimit *was)
{
	struct rlimit room;

	if (prlimit(pid, RLIMIT_AS, NULL, was) || (was->rlim_cur == RLIM_INFINITY && was->rlim_max == RLIM_INFINITY))
		return 0;
	*program = known ? *known : (struct uft_limits){ was->rlim_cur, was->rlim_max };
	room.rlim_max = was->rlim_max;
	if (!known && was->rlim_max < RLIM_INFINITY - UFT_LIMIT_ROOM && proc_is_of_our_user(pid))
		room.rlim_max += UFT_LIMIT_ROOM;
	room.rlim_cur = room.rlim_max;
	if (prlimit(pid, RLIMIT_AS, &room, NULL)) {	/* more of a hard limit takes rights */
		room.rlim_cur = room.rlim_max = was->rlim_max;
		prlimit(pid, RLIMIT_AS, &room, NULL);
	}
	return 1;
}

void rlimits_give_back(pid_t pid, const struct uft_limits *known)
{
	struct rlimit to;

	if (!known || prlimit(pid, RLIMIT_AS, NULL, &to))
		return;
	if (known->max < to.rlim_max)
		to.rlim_max = known->max;
	to.rlim_cur = known->cur < to.rlim_max ? known->cur : to.rlim_max;
	prlimit(pid, RLIMIT_AS, &to, NULL); /* GUARD(limit_given_back) */
}

int rlimits_explain(pid_t pid, int ret, uint64_t bytes, char *why, size_t size)
{
	const char *option = NULL, *to = "unlimited";
	char whose[24] = "";
	uint64_t limit;

	if (ret == -ENOMEM && is_short(pid, RLIMIT_AS, "VmSize", bytes, &limit)) {
		option = "as";
		snprintf(why, size, "%llu MB more of address space are needed and the limit is %llu MB (RLIMIT_AS)",
			 (unsigned long long)(bytes / MB), (unsigned long long)(limit / MB));
	} else if (ret == -ENOMEM && is_short(pid, RLIMIT_DATA, "VmData", DATA_BYTES, &limit)) {
		option = "data";
		snprintf(why, size, "its data may not grow beyond %llu KB (RLIMIT_DATA)",
			 (unsigned long long)(limit >> 10));
	} else if (ret == -EFBIG && limit_of(pid, RLIMIT_FSIZE) < bytes) {
		option = "fsize";
		snprintf(why, size,
			 "the files of rings are %llu MB long, most of which is empty, and the limit is %llu MB (RLIMIT_FSIZE)",
			 (unsigned long long)(bytes / MB), (unsigned long long)(limit_of(pid, RLIMIT_FSIZE) / MB));
	} else if (ret == -EMFILE && limit_of(pid, RLIMIT_NOFILE) < AGENT_FDS) {
		option = "nofile";
		to = "64";
		snprintf(why, size,
			 "the agent in it needs six descriptors of its own and the limit is %llu (RLIMIT_NOFILE)",
			 (unsigned long long)limit_of(pid, RLIMIT_NOFILE));
	} else if (ret == -EUSERS) {
		option = rlimits_explain_tasks(pid, task_limit(pid ? pid : getpid()), why, size);
		if (!option)
			return 1;
	}
	if (!option)
		return 0;
	if (pid)
		snprintf(whose, sizeof(whose), "--pid=%d ", (int)pid);
	snprintf(why + strlen(why), size - strlen(why), ": prlimit %s--%s=%s lifts it", whose, option, to);
	return 1;
}

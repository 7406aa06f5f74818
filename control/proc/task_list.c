// SPDX-License-Identifier: MIT
/*
 * task_list.c - the tasks of a process, as /proc and system calls tell of them
 *
 * Nothing here stops a task or reads its registers, so it holds on every architecture.
 */
#include "control/base/base.h"
#include "control/proc/proc.h"
#include "control/proc/proc_list.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SYS_clone3_	435
#ifdef SYS_vfork
#define SYS_vfork_	SYS_vfork
#else
#define SYS_vfork_	(-1)		/* newer architectures have clone only */
#endif

int each_task(pid_t pid, each_task_fn *fn, void *arg)
{
	DIR *d = proc_list(pid);
	int ret = d ? 0 : -ESRCH;
	pid_t tid;

	while (!ret && (tid = proc_list_next(d)))
		ret = fn(arg, pid, tid);
	proc_list_end(d);
	return ret;
}

/* Other clones sleep as well: for memory, for a lock. */
int is_vfork_call(pid_t pid, long nr, uint64_t arg0)
{
	uint64_t flags = arg0;

	if (nr == SYS_clone3_ && proc_read_memory(pid, arg0, &flags, sizeof(flags)))
		return 1;		/* as far as can be seen */
	return nr == SYS_vfork_ || ((nr == SYS_clone || nr == SYS_clone3_) && flags & CLONE_VFORK);
}

static int read_task(pid_t pid, pid_t tid, const char *name, char *buf, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "task/%d/%s", tid, name);
	return proc_read_file(pid, path, buf, size);
}

static unsigned long long number_after(const char *text, const char *field)
{
	const char *at = strstr(text, field);

	return at ? strtoull(at + strlen(field), NULL, 10) : 0;
}

int task_read_asleep(pid_t pid, pid_t tid, struct asleep *a)
{
	char status[4096], *at;
	int n = read_task(pid, tid, "status", status, sizeof(status));

	if (n <= 0)
		return -ESRCH;
	at = strstr(status, "\nState:\t");
	if (at && strchr("ZX", at[8]))
		return -ESRCH;
	a->switches = number_after(status, "\nvoluntary_ctxt_switches:") +
		      number_after(status, "\nnonvoluntary_ctxt_switches:");
	n = read_task(pid, tid, "syscall", a->where, sizeof(a->where));
	if (n <= 0)
		return n == -EPERM || n == -EACCES ? n : -ESRCH;
	if (a->where[0] == 'r')
		return 0;
	at = strrchr(a->where, ' ');
	if (!at)
		return -ESRCH;
	a->pc = strtoull(at, NULL, 16);
	*at = '\0';
	at = strrchr(a->where, ' ');
	a->sp = at ? strtoull(at, NULL, 16) : 0;
	a->nr = strtol(a->where, NULL, 10);
	return a->pc ? 1 : -ESRCH;		/* a kernel thread, or just ending */
}

int task_is_vfork_wait(pid_t pid, const struct asleep *a)
{
	const char *arg0 = strchr(a->where, ' ');

	return is_vfork_call(pid, a->nr, arg0 ? strtoull(arg0, NULL, 16) : 0);
}

/* The slice has numbers of the process's own pid namespace, which may be a stranger's here. */
int task_is_agent_of(pid_t pid, pid_t agent)
{
	char comm[32];

	return agent > 0 && proc_read_file(agent, "comm", comm, sizeof(comm)) > 0 && !strcmp(comm, "uft-agent\n") &&
	       syscall(SYS_kcmp, pid, agent, KCMP_VM, 0, 0) <= 0;
}

int task_open_agent(pid_t pid, pid_t agent)
{
	long differs;
	int fd;

	if (agent <= 0 || agent == pid || agent == getpid())
		return -ESRCH;
	fd = (int)syscall(SYS_pidfd_open, agent, 0);
	if (fd < 0)
		return -errno;
	differs = syscall(SYS_kcmp, pid, agent, KCMP_VM, 0, 0);
	/* A kernel without kcmp() leaves the name, which the target cannot give to a task of others. */
	if (differs == 0 || (differs < 0 && errno != ESRCH && task_is_agent_of(pid, agent)) || fd_await(fd, 0))
		return fd;
	close(fd);
	return -EPERM;
}

pid_t agent_find(pid_t pid)
{
	DIR *d = proc_list(0);
	pid_t tid;

	while ((tid = proc_list_next(d)) &&
	       !(task_is_agent_of(pid, tid) && syscall(SYS_kcmp, pid, tid, KCMP_VM, 0, 0) == 0))
		;
	proc_list_end(d);
	return tid;
}

// SPDX-License-Identifier: MIT
/*
 * rseq_area.c - the tasks of a process, as /proc and system calls tell of them: nobody is stopped, no registers are read
 *
 * This is what of task_stop.h and of exec_inject.c holds on every architecture.
 */
#include "control/internal.h"
#include "control/ptrace/task_stop.h"
#include "control/ptrace/remote_call.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define SYS_clone3_	435
#ifdef SYS_vfork
#define SYS_vfork_	SYS_vfork
#else
#define SYS_vfork_	(-1)		/* newer architectures have clone only */
#endif

int look_each_task(pid_t pid, look_task_fn *fn, void *arg)
{
	char path[64];
	struct dirent *e;
	int ret = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	if (!d)
		return -ESRCH;
	while (!ret && (e = readdir(d)))
		if (atoi(e->d_name) > 0)
			ret = fn(arg, pid, (pid_t)atoi(e->d_name));
	closedir(d);
	return ret;
}

/* Other clones sleep as well: for memory, for a lock. */
int look_is_vfork_call(pid_t pid, long nr, uint64_t arg0)
{
	uint64_t flags = arg0;

	if (nr == SYS_clone3_ && peek_mem(pid, arg0, &flags, sizeof(flags)))
		return 1;		/* as far as can be seen */
	return nr == SYS_vfork_ || ((nr == SYS_clone || nr == SYS_clone3_) && flags & CLONE_VFORK);
}

int inject_note_rseq(struct target *t)
{
	struct space *sp = t->space;
	int64_t offset;
	struct iovec mine = { &offset, sizeof(offset) };
	struct iovec its = { (void *)(uintptr_t)(sp->boot + offsetof(struct uft_boot, rseq_offset)), sizeof(offset) };

	if (sp->rseq_known || !sp->rseq_symbol || !sp->boot)
		return 0;
	if (peek_mem(t->pid, sp->rseq_symbol, &offset, sizeof(offset)))
		return -EFAULT;
	if (!offset || offset > REMOTE_RSEQ_REACH || offset < -REMOTE_RSEQ_REACH)
		return -ERANGE;
	if (process_vm_writev(t->pid, &mine, 1, &its, 1, 0) != (ssize_t)sizeof(offset))
		return -EFAULT;
	sp->rseq_known = 1;
	return 1;
}

int inject_rseq(struct uft_session *s, struct target *t)
{
	int ret = inject_note_rseq(t);

	return ret > 0 ? command_run(s, t, UFT_CMD_NOP) : ret;	/* the agent looks at the boot block with every command */
}

// SPDX-License-Identifier: MIT
/*
 * rseq_area.c - the runtime in a target learns where libc's rseq area is, relative to the thread pointer
 */
#include "control/target/target.h"
#include "control/ptrace/remote_call.h"

#include <errno.h>
#include <stddef.h>
#include <sys/uio.h>

int rseq_area_note(struct target *t)
{
	struct space *sp = t->space;
	int64_t offset;
	struct iovec mine = { &offset, sizeof(offset) };
	struct iovec its = { (void *)(uintptr_t)(sp->boot + offsetof(struct uft_boot, rseq_offset)), sizeof(offset) };

	if (sp->rseq_known || !sp->rseq_symbol || !sp->boot)
		return 0;
	if (proc_read_memory(t->pid, sp->rseq_symbol, &offset, sizeof(offset)))
		return -EFAULT;
	if (!offset || offset > REMOTE_RSEQ_REACH || offset < -REMOTE_RSEQ_REACH)
		return -ERANGE;
	if (process_vm_writev(t->pid, &mine, 1, &its, 1, 0) != (ssize_t)sizeof(offset))
		return -EFAULT;
	sp->rseq_known = 1;
	return 1;
}

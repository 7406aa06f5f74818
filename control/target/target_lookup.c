// SPDX-License-Identifier: MIT
/*
 * target_lookup.c - find a target or process by its number
 */
#include "control/target/target.h"
#include "control/base/base.h"
#include "control/proc/proc_list.h"

#include <stddef.h>

int target_fd_ready(int fd, unsigned timeout_ms)
{
	return fd < 0 || fd_await(fd, timeout_ms);
}

int target_is_running(const struct target *t)
{
	return !target_fd_ready(t->pidfd, 0);
}

int target_agent_ended(const struct target *t)
{
	return t->has_agent && t->agent_fd >= 0 && target_fd_ready(t->agent_fd, 0);
}

int target_takes_commands(const struct target *t)
{
	return !t->is_over && !t->is_stuck && t->has_agent;
}

struct target *target_by_slice(struct uft_session *s, uint32_t slice)
{
	struct target *t = s->targets;

	while (t && t->slice != slice)
		t = t->next;
	return t;
}

struct target *target_by_pid(struct uft_session *s, pid_t pid)
{
	struct target *t = s->targets;

	while (t && (t->pid != pid || t->is_over))
		t = t->next;
	return t;
}

uint32_t target_slice_of(struct uft_session *s, pid_t tid)
{
	const struct target *t = target_by_pid(s, (pid_t)proc_status_number(tid, "Tgid", 10));

	return t ? t->slice : UFT_LOST_SLICE;
}

int process_maps_arena(const struct uft_session *s, pid_t pid)
{
	return arena_is_mapped_by(&s->arena, pid);
}

/* Several processes of different pid namespaces may go by one number: the runtime's own word decides. */
static int has_slice(const struct uft_session *s, pid_t pid, uint32_t slice)
{
	uint32_t its;

	for (const struct space *sp = s->spaces; sp; sp = sp->next)
		if (!proc_read_memory(pid, sp->boot + offsetof(struct uft_boot, slice), &its, sizeof(its)) &&
		    its == slice)
			return 1;
	return 0;
}

pid_t target_find_process(struct uft_session *s, uint32_t slice, pid_t own)
{
	pid_t found = 0, pid;
	DIR *d;

	if (proc_namespace_pid(own) == own && arena_slice_is_mapped_by(&s->arena, slice, own) && !target_by_pid(s, own))
		return own;
	d = proc_list(0);
	while (!found && (pid = proc_list_next(d)))
		if (pid != own && proc_namespace_pid(pid) == own &&
		    arena_slice_is_mapped_by(&s->arena, slice, pid) && has_slice(s, pid, slice))
			found = pid;
	proc_list_end(d);
	return found;
}

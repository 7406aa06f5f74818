// SPDX-License-Identifier: MIT
/*
 * arm_params.c - send a target the parameters of the tracer
 *
 * A target gets the parameters before its sites are armed, and again with each change.
 */
#include "control/arm/arm.h"
#include "symbol/tracer.h"

#include <errno.h>
#include <string.h>

/*
 * Returns the values (scheduling policy and priority, CPU time) that the tracer wants and the runtime may ask the
 * kernel for in the program's threads: none if a seccomp filter is possible.
 */
static uint32_t may_ask(struct uft_session *s, struct target *t)
{
	uint32_t wanted = s->spec->params.has_events & UFT_EVENTS_CPU;
	const char *why;

	for (const struct spec *sp = s->spec; sp; sp = sp->beside)
		if (uft_tracer_kind(sp->events) == UFT_KIND_WAKEUP)
			wanted |= UFT_EVENTS_POLICY;
	if (!wanted || !seccomp_risk_is_possible(t, &why))
		return wanted;
	if (why && !t->is_unasked)
		session_warn_of(s, t->slice,
				"process %d may use seccomp (%s), so uft does not ask its threads for their %s", t->pid,
			     why, wanted & UFT_EVENTS_CPU ? "CPU time: durations include sleep" :
			     "scheduling policy: wakeup shows ?, wakeup_rt nothing");
	t->is_unasked |= why != NULL;
	return 0;
}

/* Returns 1 if the target will read stacks: of calls, its events or tracepoints. The kernel reads those of tasks. */
static int reads_stacks(const struct uft_session *s, const struct target *t)
{
	const struct uft_tracer_params *p = &s->spec->params;
	uint32_t stacks = p->has_events & UFT_EVENTS_SOME ? p->stacks : p->stacks & ~(uint32_t)UFT_STACKS_EVENT;

	if (stacks & ~(uint32_t)UFT_STACKS_TRACEPOINT)
		return 1;
	for (uint32_t i = 0; stacks & UFT_STACKS_TRACEPOINT && i < t->nobj; i++)
		if (t->obj[i].has_events_on)
			return 1;
	return 0;
}

void stacks_warn(struct uft_session *s, struct target *t)
{
	const char *why = NULL;

	if (t->is_unsafe_said || !reads_stacks(s, t) || !seccomp_risk_is_possible(t, &why) || !why)
		return;
	session_warn_of(s, t->slice,
			"process %d may use seccomp (%s): uft reads stacks by process_vm_readv, and a filter "
		     "may kill the process for this call (to be safe, record without stacks)", t->pid, why);
	t->is_unsafe_said = 1;
}

/* Translates the number of the process or its thread to its own pid namespace. 0: it is of another process. */
static uint32_t own_number(const struct target *t, uint32_t number)
{
	if ((pid_t)number == t->pid)
		return (uint32_t)t->own_pid;
	if ((pid_t)number <= 0 || (pid_t)proc_status_number((pid_t)number, "Tgid", 10) != t->pid)
		return 0;
	return (uint32_t)proc_namespace_pid((pid_t)number);
}

static uint32_t own_numbers(const struct target *t, uint32_t *to, const uint32_t *from, uint32_t n)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t own = own_number(t, from[i]);

		if (own)
			to[found++] = own;
	}
	return found;
}

/* The lists have task numbers of the session's pid namespace; the runtime compares those of its own. */
static void translate_pids(const struct target *t, struct uft_tracer_params *p)
{
	const struct uft_tracer_params all = *p;

	if (!p->has_pids || t->own_pid == t->pid) /* GUARD(pids_translated, 1) */
		return;
	p->npids = own_numbers(t, p->pids, all.pids, all.npids);
	p->nnot_pids = own_numbers(t, p->pids + p->npids, all.pids + all.npids, all.nnot_pids);
}

static void write_params(struct uft_session *s, struct target *t)
{
	struct uft_tracer_params params = s->spec->params;	/* a copy: it is changed for this target */

	params.has_events = (params.has_events & ~(uint32_t)UFT_EVENTS_CPU) | may_ask(s, t);
	params.kin_lists = pid_inherit_lists(s, t->pid);
	translate_pids(t, &params);
	stacks_put_ids(s, t, &params);
	stacks_warn(s, t);
	shared_write(channel_payload(command_begin(s, t, UFT_CMD_TRACER, 1, 0)), &params, sizeof(params));
}

void command_params_ahead(struct uft_session *s, struct target *t)
{
	write_params(s, t);
	channel_post(&s->arena, t->slice);
	t->has_params_ahead = 1;
}

int command_params(struct uft_session *s, struct target *t)
{
	const int is_posted = t->has_params_ahead;

	t->has_params_ahead = 0;
	if (!target_takes_commands(t))
		return -ESRCH;
	if (is_posted)
		return command_wait(s, t);
	write_params(s, t);
	return command_send(s, t);
}

int rseq_area_send(struct uft_session *s, struct target *t)
{
	int ret = rseq_area_note(t);

	/* the agent reads the boot block with every command */
	return ret > 0 ? command_run(s, t, UFT_CMD_NOP) : ret;
}

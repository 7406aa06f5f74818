// SPDX-License-Identifier: MIT
/*
 * exec_inject.c - put the runtime into a fresh image, before its first instruction
 *
 * The task is in its PTRACE_EVENT_EXEC stop. From there:
 *	1. run to the exit of its execve(): from there registers can be set freely;
 *	2. block its signals (they stay pending, SIGSTOP is kept and given back), so that only our stops happen;
 *	3. map the blob: one system call is made at a `syscall` instruction of the vdso between syscall stops, all
 *	   others at once by code in the memory that it mapped (remote_map_blob_fresh()): of the program's pages only
 *	   the unused part of its stack is written; segments get their final protection at once (W^X);
 *	4. write the relocated image and the boot block through /proc/PID/mem;
 *	5. run uft_blob_start below the program's stack pointer up to its breakpoint;
 *	6. arm everything through the agent, which runs by now;
 *	7. restore registers and signal mask, and detach.
 * Until 7 the task is killed if we end (PTRACE_O_EXITKILL): a half-prepared image must not run.
 *
 * The kernel forces the breakpoint's SIGTRAP, and so resets an inherited SIG_IGN of that signal: it is set again.
 *
 * rseq. The runtime needs the offset of libc's rseq area, which libc computes at run time and publishes as
 * __rseq_offset. The session reads it from a dynamic program when the loader first reports a consistent list. A static
 * program stops at each of its first system calls until libc has written it (exec_trace.c).
 */
#include "control/arm/arm.h"
#include "control/start/start.h"
#include "control/events/sources.h"
#include "control/proc/seccomp.h"
#include "control/ptrace/remote_call.h"
#include "control/ptrace/task_stop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <unistd.h>

#define AGENT_END_MS	2000		/* an agent notices the end of its process within 100 */

/* Steps 1 and 2. */
static int remote_begin(struct remote *r, const struct auxv *av)
{
	uint64_t all = ~0ull;
	long ignored = proc_status_number(r->tid, "SigIgn", 16);
	int ret = late_call_reserve();

	if (ret)
		return ret;
	r->trap_ignored = ignored > 0 && ignored >> (SIGTRAP - 1) & 1;
	r->mem = proc_open_memory(r->tid);
	if (r->mem < 0)
		return -errno;
	if (ptrace(PTRACE_SETOPTIONS, r->tid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) < 0)
		return -errno;
	ret = remote_run_to(r, PTRACE_SYSCALL, REMOTE_SYSCALL_STOP);
	if (ret)
		return ret;
	if (ptrace(PTRACE_GETREGS, r->tid, 0, &r->regs) < 0 ||
	    ptrace(PTRACE_GETSIGMASK, r->tid, sizeof(r->sigmask), &r->sigmask) < 0)
		return -errno;
	r->insn = remote_find_syscall(r, av);
	if (!r->insn)
		return -ENOTSUP;
	return ptrace(PTRACE_SETSIGMASK, r->tid, sizeof(all), &all) < 0 ? -errno : 0;
}

/* Step 5. Reads the boot block back into @boot, and returns its result or -errno. */
static int run_blob(struct remote *r, const struct blob *b, struct uft_boot *boot)
{
	struct user_regs_struct regs = r->regs;
	int ret;

	regs.rip = r->base + b->start;
	regs.rsp = (regs.rsp - REMOTE_STACK_GAP) & ~15ull;
	regs.orig_rax = (uint64_t)-1;
	if (ptrace(PTRACE_SETREGS, r->tid, 0, &regs) < 0)
		return -errno;
	ret = remote_run_to(r, PTRACE_CONT, SIGTRAP);
	if (ret)
		return ret;
	if (ptrace(PTRACE_GETREGS, r->tid, 0, &regs) < 0)
		return -errno;
	if (regs.rip < r->base || regs.rip >= r->base + b->span)
		return -EFAULT;
	r->regs.fs_base = regs.fs_base;		/* keep the runtime's provisional thread pointer */
	if (pread(r->mem, boot, sizeof(*boot), (off_t)(r->base + b->boot)) != (ssize_t)sizeof(*boot))
		return -EFAULT;
	if (r->trap_ignored) { /* GUARD(trap_ignored) */
		const uint64_t ignore[4] = { 1 /* SIG_IGN */ };
		uint64_t at = (r->regs.rsp - REMOTE_STACK_GAP) & ~15ull;

		if (!remote_write(r, at, ignore, sizeof(ignore)))
			remote_syscall(r, SYS_rt_sigaction, SIGTRAP, at, 0, 8, 0);
	}
	return boot->result;
}

/* Undoes steps 1 to 5: the image is as exec made it. */
static void remote_undo(struct remote *r, const struct blob *b)
{
	if (r->base)
		remote_unmap_blob(r, b, 0, !agent_find(r->tid));
	r->regs.orig_rax = (uint64_t)-1;
	task_request(PTRACE_SETREGS, r->tid, 0, &r->regs);
	task_request(PTRACE_SETSIGMASK, r->tid, sizeof(r->sigmask), &r->sigmask);
}

/* Steps 1 to 5 for a claimed slice. @known: its space, or NULL. *at: the address of its boot block. 0 or -errno. */
static int inject_blob(struct uft_session *s, uint32_t slice, pid_t tid, uint32_t denied,
		       const struct uft_limits *limit, const struct space *known, struct remote **out, uint64_t *at)
{
	struct uft_boot boot = {
		.version = UFT_ABI_VERSION,
		.slice = slice,
		.denied = denied,
		.arena_bytes = s->arena.target_bytes,
		.cpu_vendor_ok = remote_cpu_vendor_ok(),
	};
	struct remote *r = calloc(1, sizeof(*r));
	const struct blob *b = NULL;
	uint8_t raw[UFT_AUXV_MAX];
	struct rlimit was;
	struct auxv av;
	size_t bytes;
	int no_gain = 0, ret;

	if (!r)
		return -ENOMEM;
	*r = (struct remote){ .tid = tid, .mem = -1 };
	boot.rdebug = known ? known->rdebug : 0;
	snprintf(boot.arena_path, sizeof(boot.arena_path), "%s", s->arena.path);
	ret = blob_get(&b);
	if (!ret && known)
		auxv_parse(known->auxv, known->auxv_bytes, &av);
	else if (!ret)
		ret = auxv_read(tid, raw, &bytes, &av);
	if (!ret)
		ret = remote_begin(r, &av);
	if (ret) {
		remote_close(r);
		return ret;
	}
	boot.space.is_set = (uint32_t)rlimits_make_room(tid, limit, &boot.space.limit, &was);
	ret = remote_map_blob_fresh(r, b, &no_gain);
	/* A seccomp filter may turn a call into a signal, or the stack may be full: single calls fail with an errno. */
	if (ret && ret != -ESRCH && ret != -ENODEV && ret != -ETIMEDOUT) { /* GUARD(map_one_by_one) */
		no_gain = remote_syscall(r, SYS_prctl, PR_GET_MDWE, 0, 0, 0, 0) > 0;
		ret = remote_map_blob(r, b, 0);
	}
	boot.no_mprotect = (uint32_t)no_gain;
	if (!ret)
		ret = remote_write_blob(r, b, &boot, 0);
	if (!ret)
		ret = run_blob(r, b, &boot);
	if (ret) {
		remote_undo(r, b);
		if (boot.space.is_set && !limit)	/* else exec_trace.c does, when the reason is known */
			prlimit(tid, RLIMIT_AS, &was, NULL);
		remote_close(r);
		return ret;
	}
	*at = r->base + b->boot;
	*out = r;
	return 0;
}

/*
 * Explains -EACCES in @why: only this user can open the memory shared with targets, and the process has become another
 * user. 1: explained.
 */
static int explain_user(pid_t tid, int ret, char *why, size_t size)
{
	char dir[32];
	struct stat st;

	snprintf(dir, sizeof(dir), "/proc/%d", tid);
	if (ret != -EACCES || stat(dir, &st) < 0 || st.st_uid == geteuid())
		return 0;
	snprintf(why, size,
		 "it runs as user %u now, which cannot open the shared memory of user %u: run uft record as user %u to trace it",
		 st.st_uid, geteuid(), st.st_uid);
	return 1;
}

int start_no_slice(const struct uft_session *s, struct uft_error *err)
{
	int why = errno;

	if (why == EAGAIN)
		return uft_fail(err, -EAGAIN, "too many processes are traced at once (%u)", s->arena.map->nprocesses);
	return uft_fail(err, -why,
			"cannot make memory for its records: %s: %s (remove files there, or set XDG_RUNTIME_DIR to a larger tmpfs)",
			s->arena.path, strerror(why));
}

/* Claims a slice and puts the runtime into the image. @t: NULL, its space is not known. 0, or -errno, why in @err. */
static int inject_runtime(struct uft_session *s, pid_t tid, pid_t ppid, const struct uft_limits *limit,
			  struct target *t, uint32_t *slice, struct remote **r, uint64_t *boot,
			  struct uft_error *err)
{
	char why[400];
	uint32_t denied;
	pid_t own;
	int ret;

	if (seccomp_judge_fresh(tid, &denied, why, sizeof(why))) /* GUARD(exec_filters, 0) */
		return uft_fail(err, -EPERM,
				"the runtime cannot be put into process %d: its seccomp filter would kill it for system calls of the tracing: %s",
				tid, why);
	own = proc_namespace_pid(tid);
	*slice = arena_claim(&s->arena, own, ppid, own == tid ? 0 : UFT_SLICE_OTHER_NS);
	if (*slice == UFT_NO_SLICE)
		return start_no_slice(s, err);
	session_set_slice(s, *slice);
	if (t && s->spec) {
		t->slice = *slice;
		t->own_pid = own;
		command_params_ahead(s, t);
	}
	ret = inject_blob(s, *slice, tid, denied, limit, t ? t->space : NULL, r, boot);
	if (!ret)
		return 0;
	arena_release(&s->arena, *slice);
	if (ret == -ENODEV)
		return uft_fail(err, ret,
				"the runtime cannot be put into process %d: it must not read the clock (PR_SET_TSC)",
				tid);
	if (ret == -ETIMEDOUT)
		return uft_fail(err, ret,
				"the runtime cannot be put into process %d: it does not come back from a system call (is its control group frozen? does its seccomp filter ask another process?)",
				tid);
	if (!rlimits_explain(tid, ret, s->arena.target_bytes, why, sizeof(why)) &&
	    !explain_user(tid, ret, why, sizeof(why)))
		snprintf(why, sizeof(why), "%s", strerror(-ret));
	return uft_fail(err, ret, "the runtime cannot be put into process %d: %s", tid, why);
}

/* Kills a process whose agent runs already: the program must not run half-prepared. The launching code reaps it. */
static void give_up(struct uft_session *s, pid_t tid, uint32_t slice, struct remote *r)
{
	pid_t agent = agent_find(tid);
	const int fd = agent ? (int)syscall(SYS_pidfd_open, agent, 0) : -1;

	kill(tid, SIGKILL);
	remote_close(r);
	if (fd >= 0 ? fd_await(fd, AGENT_END_MS) : !SHARED_LOAD(&arena_slice(&s->arena, slice)->agent_tid))
		arena_release(&s->arena, slice);	/* not while its agent may still write to it */
	if (fd >= 0)
		close(fd);
}

/* The first agent starts before the program's sites are known, and can prepare for them (command_foretell()). */
struct first {
	struct uft_session *s;
	uint32_t slice;
};

static void foretell(void *arg, const struct space *sp, const struct uft_object *program, uint64_t bias)
{
	const struct first *f = arg;

	command_foretell(f->s, f->slice, sp, program, bias);
}

int inject_exec(struct uft_session *s, pid_t tid, pid_t ppid, const struct uft_limits *limit, struct target **out,
		struct uft_error *err)
{
	struct first first = { .s = s };
	int is_first = tid == s->launched && !s->targets_total, ret = 0;
	struct remote *r = NULL;
	struct target *t = NULL;
	struct space *sp;
	uint64_t boot;
	uint32_t slice;

	if (!s->arena.is_linked)
		return uft_fail(err, -ENOENT, "the session is over");
	if (is_first)		/* before its sites are found, to save time; an error kills the program in any case */
		ret = inject_runtime(s, tid, ppid, limit, NULL, &slice, &r, &boot, err);
	if (!ret && is_first)
		first.slice = slice;
	if (!ret)
		ret = space_create(s, tid, NULL, is_first ? &(struct space_ahead){ foretell, &first } : NULL, &sp, err);
	if (!ret) {
		t = target_reserve(s, tid, sp);		/* before a process that is followed is changed */
		ret = t ? 0 : uft_fail(err, -ENOMEM, "no memory for %s", sp->img->exe);
	}
	if (!ret && !is_first)
		ret = inject_runtime(s, tid, ppid, limit, t, &slice, &r, &boot, err);
	if (ret) {
		target_drop(s, t);
		if (is_first && r)
			give_up(s, tid, slice, r);
		return ret;
	}
	sp->boot = boot;
	target_add(s, t, slice, ppid);
	t->remote = r;
	target_open_agent(s, t);
	if (is_first)
		command_wait(s, t);	/* for command_foretell(); command_object() sees its result */
	for (uint32_t i = 0; i < t->nobj; i++)
		t->obj[i].is_mapped = t->obj[i].is_fresh = 1;
	target_announce(s, t);
	sources_exec(s, t);
	if (s->spec) {
		ret = target_arm(s, t, 0);
		sp->spec_sent = s->spec->generation;
		if (ret < 0 && ret != -ESRCH)
			session_warn_of(s, t->slice, "%s: not everything could be armed: %s", sp->img->exe,
					strerror(-ret));
	}
	/* Without r_brk the loader reports no libraries: arm the sites that wait for the start. */
	if (!sp->rbrk && !sp->started) {
		sp->started = 1;
		if (s->spec)
			target_arm(s, t, 0);
	}
	for (uint32_t i = 0; i < t->nobj; i++)
		t->obj[i].is_fresh = 0;
	*out = t;
	return 0;
}

int inject_release(struct uft_session *s, struct target *t)
{
	struct remote *r = t->remote;
	int watch = !t->space->is_dynamic && t->space->rseq_symbol && t->has_agent;
	int ret;

	t->remote = NULL;
	r->regs.orig_rax = (uint64_t)-1;
	ret = task_request(PTRACE_SETREGS, r->tid, 0, &r->regs);
	if (!ret)
		ret = task_request(PTRACE_SETSIGMASK /* GUARD(signal_mask_restored, PTRACE_GETSIGMASK) */, r->tid,
				   sizeof(r->sigmask), &r->sigmask);
	if (ret)
		task_detach(r->tid, 0);		/* the task was killed meanwhile */
	else if (!watch || ptrace(PTRACE_SETOPTIONS, r->tid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD) < 0 ||
		 exec_task_watch_rseq(s, r->tid, t->slice, r->pending_signal))
		ret = task_detach(r->tid, r->pending_signal);
	remote_close(r);
	return ret;
}

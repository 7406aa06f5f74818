// SPDX-License-Identifier: MIT
/* attach_agent.c - make, meet and remove the agent of an attach. Theory: attach.c. */
#include "control/start/attach_internal.h"
#include "control/ptrace/task_stop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define END_MS		1000		/* for a killed task to end */
#define STACK_BYTES	UFT_AGENT_STACK
#define CLONE_VM_	0x00000100ul
#define CLONE_UNTRACED_	0x00800000ul

/* -EAGAIN of clone() means that a limit is reached. Other code here takes -EAGAIN for a reason to try again. */
static int no_task(int ret)
{
	return ret == -EAGAIN ? -EUSERS : ret;
}

/*
 * Waits for the end of the task that made the agent, and kills it if it is late: a seccomp filter may let its system
 * calls wait for a process that never answers (SECCOMP_RET_USER_NOTIF). 1: the task has ended.
 */
static int await_between(pid_t pid)
{
	const int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	int is_over;

	if (fd < 0)
		return 0;
	is_over = fd_await(fd, MEET_MS);
	if (!is_over) {
		syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
		is_over = fd_await(fd, END_MS);
	}
	close(fd);
	return is_over;
}

static int make_agent(struct attach *a, const struct blob *b, struct uft_boot *boot)
{
	struct remote *r = &a->r;
	uint64_t stack = r->base + b->span, top = stack + STACK_BYTES, old = r->insn;
	int64_t tid;
	int32_t agent;
	int ret, is_over;

	tid = remote_syscall(r, SYS_mmap, stack + UFT_PAGE, STACK_BYTES - UFT_PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1ull);
	if (tid < 0)
		return (int)tid;
	ret = remote_write_blob(r, b, boot, STACK_BYTES);
	if (ret)
		return ret;
	r->insn = r->base + b->attach;
	tid = remote_syscall(r, SYS_clone, CLONE_VM_ | CLONE_UNTRACED_, top, 0, 0, 0);
	r->insn = old;
	if (tid <= 0)
		return tid ? no_task((int)tid) : -EFAULT;
	is_over = await_between(procinfo_global(&a->info, (pid_t)tid));
	/*
	 * The thread reaps the task in between with WNOHANG: if that zombie has another tracer, a wait would last until
	 * that tracer ends. -ECHILD: another thread, which waits for any child, has reaped the zombie.
	 */
	tid = remote_syscall(r, SYS_wait4, (uint64_t)tid, 0, __WALL | WNOHANG /* GUARD(between_ends, __WALL) */, 0, 0);
	if (tid < 0 && tid != -ECHILD)
		return (int)tid;
	if (!tid && !is_over)
		return -ECHILD;
	if (pread(r->mem, &agent, sizeof(agent), (off_t)(r->base + b->boot + offsetof(struct uft_boot, agent_tid))) !=
	    sizeof(agent))
		return -ESRCH;
	a->agent = agent;
	return agent > 0 ? 0 : agent ? no_task(agent) : -ECHILD;
}

int attach_agent_plant(struct attach *a, const struct blob *b, uint32_t slice)
{
	struct uft_boot boot = {
		.version = UFT_ABI_VERSION, .slice = slice, .arena_bytes = a->s->arena.target_bytes,
		.cpu_vendor_ok = remote_cpu_vendor_ok(), .pid = (uint32_t)a->info.local_pid,
		.is_locked = a->info.locked_kb > 0,
	};
	int ret = remote_map_blob(&a->r, b, STACK_BYTES);

	boot.no_mprotect = remote_syscall(&a->r, SYS_prctl, PR_GET_MDWE, 0, 0, 0, 0) > 0;
	boot.rseq_offset = a->rseq_offset;
	boot.stack = a->r.base + b->span;
	boot.resume = a->r.guard ? a->r.guard + REMOTE_RESUME : 0;
	if (!ret)
		ret = make_agent(a, b, &boot);
	if (ret && a->r.base) {
		remote_unmap_blob(&a->r, b, STACK_BYTES, 0);
		a->r.base = 0;
	}
	return ret;
}

static int read_boot(const struct attach *a, const struct blob *b, struct uft_boot *boot)
{
	return proc_read_memory(a->pid, a->r.base + b->boot, boot, sizeof(*boot));
}

/* Returns 1 if the process has ended or executes another program: its blob can no longer be read. */
static int blob_is_gone(const struct attach *a, const struct blob *b)
{
	struct uft_boot boot;

	return procinfo_is_gone(&a->info) || (a->space && read_boot(a, b, &boot));
}

/*
 * Stops a thread within @ms. On a loaded machine a thread may not stop in time; then it is a late tracee of ours. 0;
 * -ESRCH: the blob is gone; else the last error.
 */
static int stop_within(struct attach *a, const struct blob *b, unsigned ms)
{
	uint64_t deadline = now_ns() + ms * 1000000ull;
	int ret;

	while ((ret = attach_stop(a))) {
		if (blob_is_gone(a, b))
			return -ESRCH;
		if (now_ns() > deadline /* GUARD(remove_again, 1) */)
			return ret;
		nap(1000);
		tasks_reap_late();
	}
	return 0;
}

int attach_agent_remove(struct attach *a, const struct blob *b, unsigned ms)
{
	int ret;

	if (a->agent_fd >= 0) {
		syscall(SYS_pidfd_send_signal, a->agent_fd, SIGKILL, NULL, 0);
		fd_await(a->agent_fd, END_MS);
		close(a->agent_fd);
	}
	ret = a->r.base ? stop_within(a, b, ms) : 0;
	if (ret || !a->r.base)
		return ret == -ESRCH ? 0 : ret;
	ret = remote_unmap_blob(&a->r, b, STACK_BYTES, 1);
	attach_resume(a, 1);
	return ret == -ESRCH ? 0 : ret;
}

/* ---- Meeting the agent --------------------------------------------------------------------------- */

static int await_stage(const struct attach *a, const struct blob *b, uint32_t stage, struct uft_boot *boot)
{
	uint64_t deadline = now_ns() + MEET_MS * 1000000ull;

	for (;;) {
		if (read_boot(a, b, boot))
			return -ESRCH;
		if (boot->stage == UFT_BOOT_DONE && boot->result)
			return boot->result;
		if (boot->stage >= stage)
			return 0;
		if (now_ns() > deadline)
			return -ETIME;
		if (kill(a->agent, 0) < 0 && errno == ESRCH)
			return -ECHILD;
		nap(50);
	}
}

/* Opens the file again with fewer rights, for a descriptor that the target gets. */
static int open_again(int fd, int mode)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, mode | O_CLOEXEC);
}

static int give_fds(struct attach *a, int its_fd)
{
	int guard = (int)__atomic_load_n(&a->s->arena.board->guard_pid, __ATOMIC_RELAXED);
	int fd[UFT_BOOT_NFDS] = {
		[UFT_BOOT_ARENA] = arena_open_family(&a->s->arena, a->slice / a->s->arena.map->per_file),
		[UFT_BOOT_BOARD] = open_again(a->s->arena.board_fd, O_RDONLY),
		[UFT_BOOT_SESSION] = (int)syscall(SYS_pidfd_open, getpid(), 0),
		[UFT_BOOT_TARGET] = a->info.pidfd,
		[UFT_BOOT_GUARD] = guard ? (int)syscall(SYS_pidfd_open, guard, 0) : -1,
	};
	int sock = target_take_socket(a->agent_fd, its_fd);
	int ret = sock < 0 ? sock :
		  fd[UFT_BOOT_ARENA] < 0 || fd[UFT_BOOT_BOARD] < 0 || fd[UFT_BOOT_SESSION] < 0 ? -EBADF :
		  target_send_fds(sock, fd, UFT_BOOT_GUARD + (fd[UFT_BOOT_GUARD] >= 0), "u", 1);

	if (sock >= 0)
		target_close_socket(sock);
	if (fd[UFT_BOOT_ARENA] >= 0)
		close(fd[UFT_BOOT_ARENA]);
	if (fd[UFT_BOOT_BOARD] >= 0)
		close(fd[UFT_BOOT_BOARD]);
	if (fd[UFT_BOOT_SESSION] >= 0)
		close(fd[UFT_BOOT_SESSION]);
	if (fd[UFT_BOOT_GUARD] >= 0)
		close(fd[UFT_BOOT_GUARD]);
	return ret;
}

int attach_agent_meet(struct attach *a, const struct blob *b)
{
	struct uft_boot boot;
	int ret, nice;

	a->agent = procinfo_global(&a->info, a->agent);
	a->agent_fd = task_open_agent(a->pid, a->agent);
	if (a->agent_fd < 0) {
		a->agent = 0;
		return -ECHILD;
	}
	if (getpriority(PRIO_PROCESS, (id_t)a->agent) > -20)	/* an agent of another user inherits no priority */
		task_raise_priority(a->agent, &nice);
	ret = await_stage(a, b, UFT_BOOT_SOCKET, &boot);
	if (!ret)
		ret = give_fds(a, boot.fd);
	return ret ? ret : await_stage(a, b, UFT_BOOT_DONE, &boot);
}

int attach_agent_await(struct attach *a, const struct blob *b, struct uft_boot *boot)
{
	uint64_t deadline = now_ns() + MEET_MS * 1000000ull;

	while (!read_boot(a, b, boot) && !boot->agent_tid && boot->version == UFT_ABI_VERSION &&
	       now_ns() < deadline)
		nap(1000);
	a->agent = boot->agent_tid > 0 ? procinfo_global(&a->info, boot->agent_tid) : 0;
	a->agent_fd = task_open_agent(a->pid, a->agent);
	return a->agent_fd < 0 ? -ECHILD : await_stage(a, b, UFT_BOOT_DONE, boot);
}

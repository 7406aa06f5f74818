// SPDX-License-Identifier: MIT
/*
 * agentless.c - detach from processes that have the runtime but no agent
 *
 * These are: a fork child that has made no traced call, one that is not followed, one for which there was no slice;
 * and every target, when recorder and guard were both killed. No agent takes commands there. So the session stops one
 * thread of the process and sends it into the runtime (trace_rejoin()), which gives the process a slice and an agent.
 * Then the session puts the thread back to where it was, and detaches as from all others (detach.c).
 *
 * The session finds the runtime by its code: it compares the pages of anonymous code mappings with the blob. The
 * thread runs on the lower half of the agent's stack, which is unused, with all signals blocked; the agent has the
 * upper half. attach.c stops and resumes the thread: it continues from a stop after which the kernel restarts what it
 * interrupted. If the session is killed, the thread goes back by itself, behind the last system call that it makes in
 * the runtime (entry.S); the next session, or the guard, waits for that.
 *
 * A process whose seccomp filter would kill it for the system calls of an agent keeps the runtime. Its sites stay
 * armed, but record nothing.
 *
 * A thread inside the runtime may hold its locks, and one inside an rseq section must not be moved: the session
 * resumes such threads and looks again.
 */
#include "control/detach/agentless.h"

#include "control/proc/seccomp.h"
#include "control/target/target.h"
#include "control/ptrace/task_stop.h"
#include "control/ptrace/remote_call.h"

#include <dirent.h>
#include <errno.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REJOIN_MS	5000		/* the agent's start may take 2 s */
#define BRIEF_TIMES	500	/* polls for an agent that asks for memory */
#define REJOIN_BYTES	256		/* least size of uft_blob_rejoin */
#define INSIDE_MS	2500		/* the start of a child's agent may take 2 s, too */
#define NAP_NS		1000000
#define STACK_HALF	(64u << 10)
#define MAX_SILENT	4096
#define SAME_CODE	32		/* bytes by which the blob's code is recognised */
#define PTRACE_GET_RSEQ_CONFIGURATION_ 0x420f
#define EFLAGS_DF	0x400ull

struct agentless {
	const struct arena *a;
	pid_t pid;
	const struct blob *blob;
	uint64_t base;			/* of the blob in the process */
	uint64_t stack;
};

static void nap(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

/* ---- Finding the runtime ---------------------------------------------------------------------- */

static uint64_t find_in(const struct agentless *s, uint64_t lo, uint64_t hi)
{
	const uint8_t *want = s->blob->image + s->blob->rejoin;
	uint64_t in_page = s->blob->rejoin & (UFT_PAGE - 1);
	uint8_t have[SAME_CODE];

	for (; lo < hi; lo += UFT_PAGE)
		if (!proc_read_memory(s->pid, lo + in_page, have, sizeof(have)) && !memcmp(have, want, sizeof(have)))
			return lo + in_page - s->blob->rejoin;
	return 0;
}

static int find_in_line(void *arg, char *line)
{
	struct agentless *s = arg;
	unsigned long long lo, hi, inode;
	char prot[8];

	if (sscanf(line, "%llx-%llx %7s %*x %*x:%*x %llu", &lo, &hi, prot, &inode) == 4 && !inode &&
	    !strcmp(prot, "r-xp"))
		s->base = find_in(s, lo, hi);
	return s->base != 0;
}

static int find_blob(struct agentless *s)
{
	return proc_find_mapping(s->pid, find_in_line, s) ? 0 : -ENOENT;
}

/* ---- Borrowing a thread ----------------------------------------------------------------------- */

static int read_boot(const struct agentless *s, struct uft_boot *boot)
{
	return proc_read_memory(s->pid, s->base + s->blob->boot, boot, sizeof(*boot));
}

static int may_be_in_rseq(pid_t pid, pid_t tid)
{
	struct { uint64_t pointer; uint32_t size, signature, flags, pad; } c = { 0 };
	uint64_t section = 0;

	return ptrace(PTRACE_GET_RSEQ_CONFIGURATION_, tid, sizeof(c), &c) > 0 && c.pointer &&
	       !proc_read_memory(pid, c.pointer + 8, &section, sizeof(section)) && section;
}

static int is_movable(const struct agentless *s, pid_t tid, const struct user_regs_struct *regs)
{
	return regs->cs == 0x33 && regs->fs_base && regs->rip - s->base >= s->blob->span &&
	       !may_be_in_rseq(s->pid, tid);
}

static int write_boot(const struct agentless *s, size_t at, void *value, size_t size)
{
	struct iovec mine = { value, size }, its = { (void *)(uintptr_t)(s->base + s->blob->boot + at), size };

	return process_vm_writev(s->pid, &mine, 1, &its, 1, 0) == (ssize_t)size ? 0 : -EPERM;
}

/*
 * Gives the process memory if its agent may open no file, and waits at its socket: a fork child of another user's
 * process that was forked while no hook saw it, or whose fork got no spare.
 */
static int give_family(const struct agentless *s)
{
	struct uft_boot boot;
	int64_t family;
	uint32_t number, none = UFT_BOOT_NONE;
	int agent, sock, fd;

	if (read_boot(s, &boot) || boot.stage != UFT_BOOT_SOCKET ||
	    write_boot(s, offsetof(struct uft_boot, stage), &none, sizeof(none)))
		return 0;
	family = arena_make_family((struct arena *)s->a);
	if (family < 0)
		return (int)family;
	number = (uint32_t)family;
	agent = task_open_agent(s->pid, agent_find(s->pid));
	sock = agent < 0 ? -1 : target_take_socket(agent, boot.fd);
	fd = arena_open_family(s->a, number);
	if (sock < 0 || fd < 0 || target_send_fds(sock, &fd, 1, &number, sizeof(number)))
		arena_drop_family((struct arena *)s->a, number);
	if (agent >= 0)
		close(agent);
	if (sock >= 0)
		target_close_socket(sock);
	if (fd >= 0)
		close(fd);
	return 0;
}

/* Returns 1 at the exit of the last system call of uft_blob_rejoin. */
static int is_last(const struct agentless *s, pid_t tid)
{
	struct user_regs_struct regs;
	struct uft_boot boot;

	return !task_request(PTRACE_GETREGS, tid, 0, &regs) && regs.rip - s->base - s->blob->rejoin < REJOIN_BYTES &&
	       !read_boot(s, &boot) && !boot.is_rejoining && (int64_t)regs.rax != -ENOSYS;	/* its exit */
}

/* Runs the stopped thread until it stops behind that call. *sig: the signal to resume it with. */
static int run_through(const struct agentless *s, pid_t tid, int *sig)
{
	uint64_t deadline = now_ns() + patience_ns(REJOIN_MS);

	task_request(PTRACE_SETOPTIONS, tid, 0, (void *)PTRACE_O_TRACESYSGOOD);
	for (;;) {
		int status, ret;

		if (task_request(PTRACE_SYSCALL, tid, 0, NULL))
			return -ESRCH;
		for (unsigned i = 0; (ret = task_wait_brief(tid, &status)) == -EAGAIN && i < BRIEF_TIMES; i++)
			give_family(s);
		while (ret == -EAGAIN && (ret = task_wait_stop(tid, &status)) == -EAGAIN && now_ns() < deadline)
			;
		if (ret)
			return ret;
		if (status >> 16)
			continue;
		if (WSTOPSIG(status) == SIGSTOP)
			*sig = SIGSTOP;
		else if (WSTOPSIG(status) != REMOTE_SYSCALL_STOP)
			return -EFAULT;			/* a fault in our code: not delivered to the program */
		else if (is_last(s, tid))
			return 0;
	}
}

/* Writes the values by which the thread restores itself if this process is killed. */
static int prepare(const struct agentless *s, const struct remote *r)
{
	struct uft_way_back back = remote_way_back(r);
	uint32_t none = UFT_BOOT_NONE, yes = 1;
	int ret;

	/* A wake by the tracer's death would make the kernel forget an interrupted sleep, so the values restart it. */
	if (back.reg[0] == SYS_restart_syscall)
		back.reg[0] = r->regs.orig_rax;
	ret = write_boot(s, offsetof(struct uft_boot, back), &back, sizeof(back));
	if (!ret)
		ret = write_boot(s, offsetof(struct uft_boot, stage), &none, sizeof(none));
	return ret ? ret : write_boot(s, offsetof(struct uft_boot, is_rejoining), &yes, sizeof(yes));
}

/*
 * Sends the stopped thread through uft_blob_rejoin and back. At each moment the thread has the program's registers and
 * mask, or can restore them itself.
 */
static int send_in(const struct agentless *s, pid_t tid, int *sig)
{
	struct remote r = { .tid = tid };
	struct user_regs_struct regs;
	uint64_t all = ~0ull;
	struct uft_boot boot;
	char names[256];
	int ret;

	if (ptrace(PTRACE_GETREGS, tid, 0, &r.regs) < 0 ||
	    ptrace(PTRACE_GETSIGMASK, tid, sizeof(r.sigmask), &r.sigmask) < 0)
		return -ESRCH;
	if (seccomp_may_end_task(tid, names, sizeof(names))) /* GUARD(send_in_seccomp_may_end_task) */
		return -EACCES;
	if (*sig || !is_movable(s, tid, &r.regs))
		return -EAGAIN;
	regs_restart_call(&r.regs);
	ret = late_call_reserve();
	if (!ret)
		ret = prepare(s, &r);
	if (ret)
		return ret;
	regs = r.regs;
	regs.rip = s->base + s->blob->rejoin;
	regs.rsp = s->stack + STACK_HALF;
	regs.orig_rax = -1ull;
	regs.eflags &= ~EFLAGS_DF;
	if (task_request(PTRACE_SETREGS, tid, 0, &regs))
		return -ESRCH;
	task_request(PTRACE_SETSIGMASK, tid, sizeof(all), &all);
	ret = run_through(s, tid, sig);
	if (ret == -EAGAIN) {		/* the thread goes back by itself */
		late_task_interrupt(tid);
		return -ETIMEDOUT;
	}
	if (ret == -ESRCH)
		return ret;
	remote_to_restart_stop(&r);
	if (r.is_late)
		return -ETIMEDOUT;
	task_request(PTRACE_SETSIGMASK, tid, sizeof(r.sigmask), &r.sigmask);
	task_request(PTRACE_SETREGS, tid, 0, &r.regs);
	/* this stop delivers no signal: the signal stays pending until the thread is resumed */
	if (r.pending_signal || *sig) {
		kill(s->pid, SIGSTOP);
		*sig = 0;
	}
	return ret ? ret : read_boot(s, &boot) ? -ESRCH : boot.result;
}

static int try_task(const struct agentless *s, pid_t tid)
{
	int sig = 0, ret = task_stop(tid, &sig);

	if (ret)
		return ret;
	ret = send_in(s, tid, &sig);
	if (ret != -ETIMEDOUT)
		task_resume(tid, sig);
	return ret;
}

/*
 * Ends the wait of threads for an answer of the session, to an exec for example: such threads stay inside the runtime
 * otherwise.
 */
static void refuse_requests(const struct arena *a, pid_t pid)
{
	for (uint32_t i = 0; i < a->nfamilies * UFT_NREQUESTS; i++) {
		struct uft_request uft_shared *r =
			a->mail[i / UFT_NREQUESTS] ? &a->mail[i / UFT_NREQUESTS]->req[i % UFT_NREQUESTS] : NULL;
		uint32_t posted = UFT_REQ_POSTED;

		if (!r || SHARED_LOAD_ACQUIRE(&r->state) != UFT_REQ_POSTED || (pid_t)SHARED_LOAD(&r->pid) != pid ||
		    SHARED_LOAD(&r->no_wait))
			continue;
		SHARED_STORE(&r->result, -ETIMEDOUT);
		if (SHARED_SWAP(&r->state, &posted, UFT_REQ_DONE))
			futex(shared_address(&r->state), 1 /* FUTEX_WAKE */, INT32_MAX, NULL);
	}
}

/* Tries threads until one can be sent. A child may be inside its first event until its agent has started. */
static int rejoin(const struct arena *a, const struct agentless *s)
{
	uint64_t deadline = now_ns() + patience_ns(INSIDE_MS);
	char path[64];
	int ret;

	snprintf(path, sizeof(path), "/proc/%d/task", s->pid);
	do {
		DIR *d = opendir(path);
		struct dirent *e;

		if (!d)
			return -ESRCH;
		refuse_requests(a, s->pid);
		ret = -EAGAIN;
		while (ret == -EAGAIN && (e = readdir(d)) && now_ns() < deadline) {
			if (atoi(e->d_name) > 0)
				ret = try_task(s, (pid_t)atoi(e->d_name));
			/* one thread has ended, or a request failed for a moment */
			if (ret == -ESRCH && !proc_is_ending(s->pid)) /* GUARD(rejoin_next) */
				ret = -EAGAIN;
		}
		closedir(d);
		if (ret != -EAGAIN && ret != -EBUSY)
			return ret;
		nap(NAP_NS);
	} while (now_ns() < deadline);
	return ret;
}

/* ---- One process ------------------------------------------------------------------------------ */

/* The guard saves the records in its rings after all processes are detached. */
static void part_with(const struct arena *a, uint32_t slice, int is_saved)
{
	if (is_saved)
		SHARED_STORE_RELEASE(&arena_slice(a, slice)->state, UFT_SLICE_DEAD);
	else
		arena_release((struct arena *)a, slice);
}

/* Releases the slice that a process had claimed if it ended meanwhile. */
static void release_of(const struct arena *a, pid_t pid, int is_saved)
{
	for (uint32_t i = 0; i < a->map->nslices; i++) {
		const struct uft_slice uft_shared *sl = arena_has(a, i) ? arena_slice(a, i) : NULL;

		if (sl && SHARED_LOAD_ACQUIRE(&sl->state) == UFT_SLICE_LIVE && (pid_t)SHARED_LOAD(&sl->pid) == pid)
			part_with(a, i, is_saved);
	}
}

/* Waits for a thread that a killed session had sent and that is still inside: it uses the stack. */
static void await_earlier(const struct agentless *s)
{
	uint64_t deadline = now_ns() + patience_ns(REJOIN_MS);
	struct uft_owned own = { s->base + s->blob->rejoin, REJOIN_BYTES };
	struct task_search look = { .pid = s->pid, .own = &own, .nown = 1 };
	struct uft_boot boot;

	while (!read_boot(s, &boot) && (boot.is_rejoining || tasks_find_inside(&look) > 0) &&
	       now_ns() < deadline)
		nap(NAP_NS);
}

static int give_agent(const struct arena *a, struct agentless *s, struct uft_boot *boot)
{
	uint64_t since = now_ns(), word;
	int ret;

	await_earlier(s);
	patience_use(since, 0);
	ret = read_boot(s, boot);
	s->stack = boot->stack;
	if (ret || !s->stack || boot->version != UFT_ABI_VERSION)
		return -EPROTO;
	/*
	 * An agent that has started after the others were listed, or that is in another pid namespace, has that stack.
	 * It has its name before it serves: until then rejoin() waits for it.
	 */
	if (boot->slice < a->map->nslices && arena_has(a, boot->slice) &&
	    SHARED_LOAD(&arena_slice(a, boot->slice)->agent_tid) && agent_find(s->pid))
		return 0;
	if (proc_read_memory(s->pid, s->stack + STACK_HALF - sizeof(word), &word, sizeof(word)))
		return -EPROTO;		/* partly unmapped, by a session that was killed meanwhile */
	since = now_ns();
	ret = rejoin(a, s);
	patience_use(since, ret);
	if (!ret)
		ret = read_boot(s, boot);
	if (!ret && (!arena_slice_is_mapped_by(a, boot->slice, s->pid) || !arena_has(a, boot->slice) ||
		     !SHARED_LOAD(&arena_slice(a, boot->slice)->agent_tid)))
		ret = -EPROTO;
	return ret;
}

int agentless_rejoin(const struct arena *a, uint32_t slice, pid_t pid)
{
	struct agentless s = { .a = a, .pid = pid };
	struct uft_boot boot;
	int ret = blob_get(&s.blob);

	if (!ret)
		ret = find_blob(&s);
	if (!ret)
		ret = give_agent(a, &s, &boot);
	return ret ? ret : boot.slice == slice ? 0 : -ESTALE;
}

static int try_leave(const struct arena *a, struct agentless *s, int is_saved, char *why, size_t size)
{
	struct uft_boot boot;
	struct detaching l;
	int ret = give_agent(a, s, &boot);

	if (ret) {
		snprintf(why, size, "cannot start an agent in it, so our memory remains in it: %s",
			 ret == -EACCES ? "its seccomp filter would end it" : strerror(-ret));
		return ret;
	}
	l = (struct detaching){ .arena = a, .slice = boot.slice, .pid = s->pid };
	detach_targets(&l, 1);
	if (l.why[0]) {
		snprintf(why, size, "%s", l.why);
		return l.is_over ? 0 : -EAGAIN;
	}
	part_with(a, boot.slice, is_saved);
	return 0;
}

static int agentless_restore(const struct arena *a, struct agentless *s, int is_saved, char *why, size_t size)
{
	int ret = try_leave(a, s, is_saved, why, size);

	if (!proc_is_ending(s->pid) && arena_is_mapped_by(a, s->pid))
		return ret;
	release_of(a, s->pid, is_saved);	/* also if it has executed another program since */
	return 0;
}

/* ---- All -------------------------------------------------------------------------------------- */

static int shares_with(pid_t pid, const pid_t *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (list[i] == pid || syscall(SYS_kcmp, pid, list[i], KCMP_VM, 0, 0) == 0)
			return 1;
	return 0;
}

static int is_agent(pid_t pid)
{
	char comm[32];

	return proc_read_file(pid, "comm", comm, sizeof(comm)) <= 0 || !strcmp(comm, "uft-agent\n");
}

static unsigned look_once(const struct arena *a, pid_t only, int is_saved, pid_t *seen, uint32_t *nseen, uint32_t room,
			  char *why, size_t size, unsigned *failed)
{
	DIR *d = opendir("/proc");
	unsigned found = 0;
	struct dirent *e;

	while (d && (e = readdir(d)) && *nseen < room) {
		pid_t pid = (pid_t)atoi(e->d_name);
		struct agentless s = { .a = a, .pid = pid };

		if ((only && pid != only) || !arena_may_be_mapped_by(a, pid) || !arena_is_mapped_by(a, pid) ||
		    is_agent(pid) || shares_with(pid, seen, *nseen) || blob_get(&s.blob) || find_blob(&s))
			continue;
		found++;
		seen[(*nseen)++] = pid;
		if (agentless_restore(a, &s, is_saved, why, size)) {
			char text[200];

			snprintf(text, sizeof(text), "process %d: %s", pid, why);
			snprintf(why, size, "%s", text);
			++*failed;
		}
	}
	if (d)
		closedir(d);
	return found;
}

unsigned agentless_detach(const struct arena *a, pid_t only, int is_saved, const pid_t *known, uint32_t nknown,
			  char *why, size_t size)
{
	pid_t *seen = calloc(nknown + MAX_SILENT, sizeof(*seen));
	uint32_t nseen = nknown;
	unsigned failed = 0;

	why[0] = '\0';
	if (!seen) {
		snprintf(why, size, "%s", AGENTLESS_NO_MEMORY);
		return 1;
	}
	if (nknown)
		memcpy(seen, known, nknown * sizeof(*seen));
	/* A process that still has the runtime may have made children meanwhile. */
	while (look_once(a, only, is_saved, seen, &nseen, nknown + MAX_SILENT, why, size, &failed) && !only)
		;
	free(seen);
	return failed;
}

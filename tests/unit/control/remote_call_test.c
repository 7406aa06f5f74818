/* SPDX-License-Identifier: MIT */
/*
 * remote_call_test.c - the runtime's memory in a fresh image: in how many stops it is mapped, what the task's signal mask
 * is behind that, and what is left where it cannot be done so; and calls whose task does not stop, or cannot be asked
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/ptrace/remote_call.h"
#include "control/ptrace/task_stop.h"
#include "tests/lib/ptrace_args.h"

static unsigned stops;
static int is_blind;		/* no stop is seen */
static int cannot_peek;		/* at the signals that wait */

int __real_task_wait_until(pid_t tid, int *status, uint64_t deadline);
int __wrap_task_wait_until(pid_t tid, int *status, uint64_t deadline);
int __wrap_task_wait_until(pid_t tid, int *status, uint64_t deadline)
{
	int ret = is_blind ? -EAGAIN : __real_task_wait_until(tid, status, deadline);

	stops += !ret;
	return ret;
}

long __real_ptrace(enum __ptrace_request request, ...);
long __wrap_ptrace(enum __ptrace_request request, ...);
long __wrap_ptrace(enum __ptrace_request request, ...)
{
	struct ptrace_args a;
	va_list ap;

	va_start(ap, request);
	a = ptrace_args(ap);
	va_end(ap);
	if (request == PTRACE_PEEKSIGINFO && cannot_peek) {
		errno = ESRCH;
		return -1;
	}
	return __real_ptrace(request, a.pid, a.addr, a.data);
}

/* A task that stands at the exit of its execve, all signals blocked, as exec_inject.c leaves it. */
static struct remote *start(void)
{
	struct remote *r = calloc(1, sizeof(*r));
	uint64_t all = ~0ull;
	uint8_t raw[UFT_AUXV_MAX];
	struct auxv av;
	char path[64];
	size_t bytes;
	int status;

	assert_non_null(r);
	r->tid = fork();
	if (!r->tid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execl("/proc/self/exe", "remote_call_test", "child", NULL);
		_exit(1);
	}
	assert_int_equal(waitpid(r->tid, &status, 0), r->tid);
	assert_int_equal(ptrace(PTRACE_SETOPTIONS, r->tid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD |
				PTRACE_O_EXITKILL), 0);
	assert_int_equal(ptrace(PTRACE_CONT, r->tid, 0, 0), 0);
	assert_int_equal(waitpid(r->tid, &status, 0), r->tid);
	assert_int_equal(status >> 8, SIGTRAP | PTRACE_EVENT_EXEC << 8);
	snprintf(path, sizeof(path), "/proc/%d/mem", r->tid);
	r->mem = open(path, O_RDWR | O_CLOEXEC);
	assert_true(r->mem >= 0);
	assert_int_equal(auxv_read(r->tid, raw, &bytes, &av), 0);
	assert_int_equal(remote_run_to(r, PTRACE_SYSCALL, REMOTE_SYSCALL_STOP), 0);
	assert_int_equal(ptrace(PTRACE_GETREGS, r->tid, 0, &r->regs), 0);
	assert_int_equal(ptrace(PTRACE_SETSIGMASK, r->tid, sizeof(all), &all), 0);
	r->insn = remote_find_syscall(r, &av);
	assert_true(r->insn != 0);
	stops = 0;
	return r;
}

static void finish(struct remote *r)
{
	kill(r->tid, SIGKILL);
	waitpid(r->tid, NULL, 0);
	remote_close(r);
}

struct range { uint64_t from, to; int prot, n; };

static int note_line(void *arg, char *line)
{
	struct range *m = arg;
	unsigned long from, to;
	char p[5];

	if (sscanf(line, "%lx-%lx %4s", &from, &to, p) == 3 && from <= m->from && m->from < to)
		m->prot =
			(p[0] == 'r' ? PROT_READ : 0) | (p[1] == 'w' ? PROT_WRITE : 0) | (p[2] == 'x' ? PROT_EXEC : 0);
	m->n++;
	return 0;
}

/* -1: nothing is mapped there. */
static int prot_at(pid_t pid, uint64_t at, int *lines)
{
	struct range m = { .from = at, .prot = -1 };

	proc_find_mapping(pid, note_line, &m);
	if (lines)
		*lines = m.n;
	return m.prot;
}

static void is_mapped(struct remote *r, const struct blob *b)
{
	for (unsigned i = 0; i < b->nseg; i++) {
		assert_int_equal(prot_at(r->tid, r->base + b->seg[i].addr, NULL), b->seg[i].prot);
		assert_int_equal(prot_at(r->tid, r->base + b->seg[i].end - 1, NULL), b->seg[i].prot);
	}
}

static uint64_t blocked(struct remote *r)
{
	uint64_t mask = 0;

	assert_int_equal(ptrace(PTRACE_GETSIGMASK, r->tid, sizeof(mask), &mask), 0);
	return mask;
}

/* Two stops for the first call, one for all others; and as many signals are blocked as before. */
static void three_stops(void **state)
{
	const struct blob *b = NULL;
	struct remote *r = start();
	uint64_t mask = blocked(r);
	int no_gain = 1;

	(void)state;
	assert_int_equal(blob_get(&b), 0);
	assert_true(b->nseg > 2);
	assert_int_equal(remote_map_blob_fresh(r, b, &no_gain), 0);
	assert_int_equal(stops, 3);
	assert_int_equal(no_gain, 0);
	is_mapped(r, b);
	assert_true(mask >> (SIGTRAP - 1) & 1);
	assert_true(blocked(r) == mask);
	finish(r);
}

/* A SIGTRAP that waits is not the breakpoint's, and waits on. */
static void a_trap_waits(void **state)
{
	const struct blob *b = NULL;
	struct remote *r = start();
	int no_gain = 1;

	(void)state;
	assert_int_equal(blob_get(&b), 0);
	assert_int_equal(kill(r->tid, SIGTRAP), 0);
	assert_int_equal(remote_map_blob_fresh(r, b, &no_gain), 0);
	assert_int_equal(stops, 3);
	is_mapped(r, b);
	assert_int_equal(remote_syscall(r, SYS_getpid, 0, 0, 0, 0, 0), r->tid);
	finish(r);
}

/* Where the calls cannot be written all is as it was, and one by one it can be done. */
static void no_room(void **state)
{
	const struct blob *b = NULL;
	struct remote *r = start();
	struct user_regs_struct regs = r->regs;
	int no_gain = 1, before, after;

	(void)state;
	assert_int_equal(blob_get(&b), 0);
	assert_int_equal(prot_at(r->tid, 4096, &before), -1);
	r->regs.rsp = 4096;
	assert_int_equal(remote_map_blob_fresh(r, b, &no_gain), -EFAULT);
	assert_int_equal(r->base, 0);
	assert_int_equal(prot_at(r->tid, 4096, &after), -1);
	assert_int_equal(after, before);
	r->regs = regs;
	assert_int_equal(remote_map_blob(r, b, 0), 0);
	is_mapped(r, b);
	assert_true(stops > 3);
	finish(r);
}

/* So it is with an image whose parts leave gaps, in which there is no place for the code. */
static void gaps(void **state)
{
	const struct blob *b = NULL;
	struct remote *r = start();
	int no_gain = 1;
	struct blob other;

	(void)state;
	assert_int_equal(blob_get(&b), 0);
	other = *b;
	other.seg[1].addr += UFT_PAGE;
	assert_int_equal(remote_map_blob_fresh(r, &other, &no_gain), -ENOEXEC);
	assert_int_equal(stops, 0);
	assert_int_equal(r->base, 0);
	finish(r);
}

/*
 * A call that returns its own number looks like one that a filter refused, so the signals that wait are looked at. If that
 * fails, so does the call.
 */
static void signals_unknown(void **state)
{
	struct remote *r = start();

	(void)state;
	assert_int_equal(remote_syscall(r, SYS_dup2, 1, SYS_dup2, 0, 0, 0), SYS_dup2);
	cannot_peek = 1;
	assert_int_equal(remote_syscall(r, SYS_dup2, 1, SYS_dup2, 0, 0, 0), -ESRCH);
	assert_int_equal(remote_syscall(r, SYS_getpid, 0, 0, 0, 0, 0), r->tid);
	cannot_peek = 0;
	finish(r);
}

/*
 * This task is traced, but was not seized: it cannot be interrupted, as one that is dying. It is not waited
 * for later.
 */
static void no_stop(void **state)
{
	struct remote *r = start();

	(void)state;
	is_blind = 1;
	assert_int_equal(remote_syscall(r, SYS_getpid, 0, 0, 0, 0, 0), -ESRCH);
	is_blind = 0;
	assert_int_equal(r->is_late, 0);
	assert_int_equal(task_is_late(r->tid), 0);
	finish(r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_stops), cmocka_unit_test(a_trap_waits), cmocka_unit_test(no_room),
		cmocka_unit_test(gaps), cmocka_unit_test(signals_unknown), cmocka_unit_test(no_stop),
	};

	(void)argv;
	return argc > 1 ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}

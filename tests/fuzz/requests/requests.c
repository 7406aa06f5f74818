/* SPDX-License-Identifier: MIT */
/*
 * requests.c - a target that asks for anything, and whose agent answers anything
 *
 * usage: requests [seconds] [seed]
 *
 * A session serves requests, then one that preloads its runtime. A child has a family mapped, as a target does: it writes random
 * requests into the mail, in the name of itself, its agent, the recorder and another process, and random words into its
 * slice; its agent answers commands by random bytes. The other process has a family, too, asks for nothing, and must come to
 * no harm: it lives, is no tracee, and gets no command. A turn of the session that takes too long is ended by SIGALRM.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "control/plan/plan.h"
#include "control/proc/proc.h"
#include "control/session/internal.h"
#include "control/session/price.h"
#include "control/target/target.h"
#include "tests/fuzz/words.h"

#define TURNS		12
#define NKINDS		9u
#define UNANSWERED	12345		/* is no session's result */

static uint64_t seed, nserved;
static struct { uint64_t served, refused; } *count;	/* by kind, shared with the targets */

static void fail(const char *what)
{
	fprintf(stderr, "requests: %s, seed %llu\n", what, (unsigned long long)seed);
	_exit(1);
}

/* ---- The target --------------------------------------------------------------------------- */

static struct {
	uint8_t *file;			/* its family's */
	size_t bytes;
	uint32_t slice, other_slice, is_preload;
	uint32_t name[4];		/* of itself, its agent, the recorder, the other process */
	struct uft_slice *sl;
	uint8_t *cmd;
	uint64_t cmd_bytes, arena_bytes, state;
	struct uft_boot boot;
} me;

static uint64_t rnd(uint64_t below)
{
	return fuzz_random(&me.state, below);
}

/* Never a process that has no part in this. */
static uint32_t any_name(void)
{
	return rnd(8) ? me.name[rnd(4)] : 0;
}

static uint64_t any_arg(void)
{
	static struct sock_filter code[4];
	static struct sock_fprog prog = { 4, code };

	switch (rnd(6)) {
	case 0:
		return me.slice;
	case 1:
		return me.other_slice;
	case 2:
		code[rnd(4)] = (struct sock_filter)BPF_STMT((uint16_t)rnd(256), (uint32_t)rnd(0));
		prog.len = (unsigned short)(rnd(4) ? 4 : rnd(65536));
		return (uintptr_t)&prog;
	case 3:
		return (uintptr_t)"/bin/su";
	case 4:
		return rnd(8);
	}
	return fuzz_word(&me.state, rnd(0));
}

/* A hello that is near the truth. */
static void say_hello(struct uft_request *r)
{
	static const char *const exe[] = { "/proc/self/exe", "/proc/self/exe", "/proc/self/exe", "/proc/self/exe", "/bin/true", "/dev/zero", "/", "" };
	struct uft_hello *h = (struct uft_hello *)(void *)(me.cmd + UFT_CMD_PAYLOAD);
	int fd = open("/proc/self/auxv", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, h->auxv, sizeof(h->auxv));

	close(fd);
	h->nauxv = n > 0 ? (uint32_t)n / 16 : 0;
	snprintf(h->exe, sizeof(h->exe), "%s", exe[rnd(8)]);
	for (uint64_t k = rnd(2) * rnd(8); k--;) {
		uint64_t *word = (uint64_t *)(void *)h + rnd(sizeof(*h) / 8);

		*word = fuzz_word(&me.state, *word);
	}
	r->result = UNANSWERED;
	r->pid = me.name[0];
	r->slice = me.slice;
	r->arg[3] = (uintptr_t)&me.boot;
}

/* Counts the session's answer in slot @r, which the next request overwrites. */
static void count_answer(const struct uft_request *r)
{
	const uint32_t kind = r->kind % NKINDS, state = r->state;

	if ((state == UFT_REQ_DONE || state == UFT_REQ_FREE) && r->result != UNANSWERED)
		__atomic_add_fetch(r->result < 0 ? &count[kind].refused : &count[kind].served, 1, __ATOMIC_RELAXED);
}

static void ask(void)
{
	struct uft_mail *m = (struct uft_mail *)(void *)me.file;
	struct uft_request *r = &m->req[rnd(UFT_NREQUESTS)];

	count_answer(r);
	r->result = UNANSWERED;
	r->kind = (uint32_t)rnd(NKINDS);
	r->pid = rnd(4) ? me.name[0] : any_name();
	r->tid = rnd(4) ? me.name[0] : any_name();
	r->slice = rnd(4) ? me.slice : rnd(2) ? me.other_slice : (uint32_t)any_arg();
	r->no_wait = (uint32_t)rnd(2);
	for (int i = 0; i < 4; i++)
		r->arg[i] = any_arg();
	if (r->kind == UFT_REQ_SANDBOX && rnd(2))
		r->arg[0] = rnd(5);
	if (r->kind == UFT_REQ_HELLO && rnd(4))
		say_hello(r);
	__atomic_store_n(&r->state, rnd(8) ? UFT_REQ_POSTED : (uint32_t)rnd(5), __ATOMIC_RELEASE);
	__atomic_store_n(&m->posted, 1, __ATOMIC_RELEASE);
}

/* Before anything else would make it a target. */
static void begin(void)
{
	struct uft_mail *m = (struct uft_mail *)(void *)me.file;
	struct uft_request *r = &m->req[0];

	r->kind = UFT_REQ_HELLO;
	r->tid = me.name[0];
	say_hello(r);
	__atomic_store_n(&r->state, UFT_REQ_POSTED, __ATOMIC_RELEASE);
	__atomic_store_n(&m->posted, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&r->state, __ATOMIC_ACQUIRE) == UFT_REQ_POSTED)
		usleep(200);
	count_answer(r);
}

static void lie(void)
{
	switch (rnd(8)) {
	case 0:
		me.sl->pid = any_name();
		break;
	case 1:
		me.sl->agent_tid = any_name();
		break;
	case 2:
		me.sl->parent_slice = (uint32_t)any_arg();
		break;
	case 3:
		me.sl->state = (uint32_t)rnd(5);
		break;
	case 4:
		me.sl->flags = (uint32_t)rnd(4);
		break;
	default:	/* the truth, so that it becomes a target now and then */
		me.sl->pid = me.name[0];
		me.sl->agent_tid = me.name[1];
		me.sl->flags = 0;
		__atomic_store_n(&me.sl->state, UFT_SLICE_LIVE, __ATOMIC_RELEASE);
	}
}

/* Some bytes of what a command says, and an answer. */
static void answer(uint64_t *state)
{
	const uint32_t seq = __atomic_load_n(&me.sl->cmd_seq, __ATOMIC_ACQUIRE);

	for (uint64_t n = fuzz_random(state, 16); n--;) {
		uint64_t *word = (uint64_t *)(void *)me.cmd + fuzz_random(state, fuzz_random(state, 2) ? 32 : me.cmd_bytes / 8);

		*word = fuzz_word(state, *word);
	}
	me.sl->cmd_result = fuzz_random(state, 4) ? 0 : (int32_t)fuzz_random(state, 0);
	__atomic_store_n(&me.sl->cmd_done, fuzz_random(state, 16) ? seq : (uint32_t)fuzz_random(state, 0), __ATOMIC_RELEASE);
	syscall(SYS_futex, &me.sl->cmd_done, 1 /* FUTEX_WAKE */, INT32_MAX, NULL, NULL, 0);
}

static int agent(void *arg)
{
	uint64_t state = me.state ^ (uintptr_t)arg;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == (pid_t)me.name[0]) {
		const uint32_t done = __atomic_load_n(&me.sl->cmd_done, __ATOMIC_ACQUIRE);

		syscall(SYS_futex, &me.sl->cmd_seq, 0 /* FUTEX_WAIT */, done, &(struct timespec){ .tv_nsec = 1000000 }, NULL, 0);
		answer(&state);
	}
	return 0;
}

static void be_target(int fd)
{
	static uint8_t stack[256 << 10] __attribute__((aligned(16)));
	struct { char path[300]; uint64_t slice_at, cmd_at; } where;

	if (read(fd, &where, sizeof(where)) != sizeof(where) || read(fd, &me, sizeof(me)) != sizeof(me))
		_exit(2);
	fd = open(where.path, O_RDWR | O_CLOEXEC);
	me.file = mmap(NULL, me.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (me.file == MAP_FAILED)
		_exit(3);
	while (me.slice == me.other_slice)	/* it is the other one */
		pause();
	me.sl = (struct uft_slice *)(void *)(me.file + where.slice_at);
	me.cmd = me.file + where.slice_at + where.cmd_at;
	me.boot = (struct uft_boot){ .version = UFT_ABI_VERSION, .arena_bytes = me.arena_bytes };
	me.name[0] = (uint32_t)getpid();
	me.name[1] = (uint32_t)clone(agent, stack + sizeof(stack), CLONE_VM | CLONE_FILES | CLONE_FS, NULL);
	for (int i = 0;; i++) {
		if (!i && me.is_preload)
			begin();
		else if (rnd(3))
			ask();
		else
			lie();
		if (!rnd(16))
			usleep(200);
	}
}

/* ---- The recorder ------------------------------------------------------------------------- */

struct child { pid_t pid; uint32_t slice; };

static struct child start(struct uft_session *s, const struct child *other)
{
	const struct uft_arena *map = s->arena.map;
	struct { char path[300]; uint64_t slice_at, cmd_at; } where = {
		.slice_at = map->slice_offset - UFT_BOARD_BYTES, .cmd_at = map->cmd_offset };
	struct child c;
	int fd[2];

	if (pipe2(fd, O_CLOEXEC))
		fail("no pipe");
	c.pid = fork();
	if (!c.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fd[1]);
		be_target(fd[0]);
	}
	close(fd[0]);
	c.slice = c.pid < 0 ? UFT_NO_SLICE : arena_claim(&s->arena, c.pid, getpid());
	if (c.slice == UFT_NO_SLICE)
		fail("no slice");
	snprintf(where.path, sizeof(where.path), "%s" UFT_FAMILY_SUFFIX "%u", s->arena.path, c.slice / map->per_file);
	me.arena_bytes = s->arena.target_bytes;
	me.bytes = s->arena.target_bytes - UFT_BOARD_BYTES;
	me.slice = c.slice;
	me.is_preload = (uint32_t)s->opts.preload;
	me.other_slice = other ? other->slice : c.slice;
	me.name[2] = (uint32_t)getpid();
	me.name[3] = (uint32_t)(other ? other->pid : c.pid);
	me.cmd_bytes = map->cmd_bytes;
	me.state = seed;
	if (write(fd[1], &where, sizeof(where)) != sizeof(where) || write(fd[1], &me, sizeof(me)) != sizeof(me))
		fail("the child does not take its orders");
	close(fd[1]);
	return c;
}

static void look_at_other(struct uft_session *s, const struct child *other)
{
	const struct uft_slice uft_shared *sl = arena_slice(&s->arena, other->slice);

	if (waitpid(other->pid, NULL, WNOHANG) || proc_status_number(other->pid, "TracerPid", 10))
		fail("another process came to harm");
	if (SHARED_LOAD(&sl->cmd_seq) || SHARED_LOAD(&sl->state) != UFT_SLICE_LIVE || (pid_t)SHARED_LOAD(&sl->pid) != other->pid)
		fail("another process's slice was changed");
	for (const struct target *t = s->targets; t; t = t->next)
		if (t->pid == other->pid || t->pid == getpid())
			fail("a process that asked for nothing became a target");
}

static void run(struct uft_session *s, const struct child *other)
{
	struct child c = start(s, other);
	uint32_t total = s->targets_total;

	for (int i = 0; i < TURNS; i++) {
		alarm(60);
		if (i & 1)
			uft_session_poll(s, 1);
		else
			request_serve(s);
		look_at_other(s, other);
		memset(s->purse, 0, s->arena.nfamilies * sizeof(*s->purse));	/* here all is to be served */
	}
	nserved += s->targets_total - total;
	kill(c.pid, SIGKILL);
	waitpid(c.pid, NULL, __WALL);
	for (int i = 0; i < 3; i++)
		uft_session_poll(s, 0);
}

/* For @seconds, and until one child was a target. */
static uint64_t serve(int is_preload, uint64_t seconds)
{
	const struct uft_session_opts opts = { .ring_bytes = 16384, .sub_bytes = 4096, .preload = is_preload };
	const char *const filter[] = { "uft_object_*", NULL };
	const struct uft_ops ops = { .tracer = UFT_TRACER_FUNCTION, .filter = filter };
	const struct uft_trace_spec spec = { .ops = &ops, .nops = 1, .is_unchecked = 1 };
	const uint64_t before = nserved;
	struct uft_error err = { "" };
	struct uft_session *s;
	struct child other;
	struct space *sp;
	uint64_t n = 0;
	time_t begin;

	if (uft_session_create(&opts, NULL, &s, &err))
		fail(err.text);
	s->command_ms = 20;
	other = start(s, NULL);
	if (space_create(s, other.pid, NULL, NULL, &sp, &err) || uft_session_trace(s, &spec, &err))
		fail(err.text);
	for (begin = time(NULL); (uint64_t)(time(NULL) - begin) < seconds || nserved == before; n++) {
		fuzz_random(&seed, 0);
		run(s, &other);
	}
	kill(other.pid, SIGKILL);
	waitpid(other.pid, NULL, 0);
	alarm(60);
	uft_session_destroy(s);
	return n;
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 0) : 3, n;
	uint32_t served = 0;

	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL);
	count = mmap(NULL, NKINDS * sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (count == MAP_FAILED)
		fail("no memory");
	n = serve(0, (seconds + 1) / 2);
	n += serve(1, seconds / 2);
	for (uint32_t i = 0; i < NKINDS; i++) {
		served |= (count[i].served != 0) << i;
		printf("kind %u: %llu served, %llu refused\n", i, (unsigned long long)count[i].served, (unsigned long long)count[i].refused);
	}
	printf("%llu children, %llu became targets\n", (unsigned long long)n, (unsigned long long)nserved);
	return 0;
}

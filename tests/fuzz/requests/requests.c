/* SPDX-License-Identifier: MIT */
/*
 * requests.c - a target that asks for anything, and whose agent answers anything
 *
 * usage: requests [seconds] [seed]
 *
 * The seconds are those of all four sessions together. Each one says at its end how many children it had. One that has
 * seen no target by then (or offered no runtime) goes on for EXTRA_S more, and then fails.
 *
 * A session serves requests, then one whose children another tracer has, so that it offers its runtime, then one that preloads it,
 * then one whose programs are emulated. A child has a family
 * mapped, as a target does, and a spare, as for its own child, in which it only says hello: it writes random
 * requests into the mail, in the name of itself, its agent, the recorder and another process, and random words into its
 * slice; its agent answers commands by random bytes. The other process has a family, too, asks for nothing, and must come to
 * no harm: it lives, is no tracee, gets no command, and its name is told to nobody. A process is one target, and its program is a file that it has mapped. A turn of the session that takes too long is ended by SIGALRM.
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
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "control/plan/plan.h"
#include "control/proc/proc.h"
#include "control/session/internal.h"
#include "control/session/price.h"
#include "control/start/start.h"
#include "control/target/target.h"
#include "tests/fuzz/words.h"

#define TURNS		12
#define EXTRA_S		60u
#define NKINDS		9u
#define UNANSWERED	12345		/* is no session's result */
#define OTHER_NAME	"uft-other"

static uint64_t seed, nserved, noffers;
static int is_traced;		/* another tracer has the children */
static struct { uint64_t served, refused; } *count;	/* by kind, shared with the targets */

static void fail(const char *what)
{
	fprintf(stderr, "requests: %s, seed %llu\n", what, (unsigned long long)seed);
	_exit(1);
}

/* ---- The target --------------------------------------------------------------------------- */

static struct {
	uint8_t *file, *spare;		/* its family's, and that of one for a child */
	size_t bytes;
	uint32_t slice, other_slice, spare_slice, is_preload, is_traced;
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
		return (uintptr_t)(rnd(2) ? "/bin/su" : "/bin/true");
	case 4:
		return rnd(8);
	}
	return fuzz_word(&me.state, rnd(0));
}

/* A hello that is near the truth, by the slice whose command area is @cmd. */
static void say_hello(struct uft_request *r, uint32_t slice, uint8_t *cmd)
{
	struct uft_hello *h = (struct uft_hello *)(void *)(cmd + UFT_CMD_PAYLOAD);
	int fd = open("/proc/self/auxv", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, h->auxv, sizeof(h->auxv));

	close(fd);
	h->nauxv = n > 0 ? (uint32_t)n / 16 : 0;
	for (uint64_t k = rnd(2) * rnd(8); k--;) {
		uint64_t *word = (uint64_t *)(void *)h + rnd(sizeof(*h) / 8);

		*word = fuzz_word(&me.state, *word);
	}
	r->result = UNANSWERED;
	r->pid = me.name[0];
	r->slice = slice;
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
		say_hello(r, me.slice, me.cmd);
	__atomic_store_n(&r->state, rnd(8) ? UFT_REQ_POSTED : (uint32_t)rnd(5), __ATOMIC_RELEASE);
	__atomic_store_n(&m->posted, 1, __ATOMIC_RELEASE);
}

/* Hello from @slice, in the family @file. It waits for the answer. */
static void say_hello_from(uint8_t *file, uint32_t slice, uint8_t *cmd)
{
	struct uft_mail *m = (struct uft_mail *)(void *)file;
	struct uft_request *r = &m->req[0];

	r->kind = UFT_REQ_HELLO;
	r->tid = me.name[0];
	say_hello(r, slice, cmd);
	__atomic_store_n(&r->state, UFT_REQ_POSTED, __ATOMIC_RELEASE);
	__atomic_store_n(&m->posted, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&r->state, __ATOMIC_ACQUIRE) == UFT_REQ_POSTED)
		usleep(200);
	count_answer(r);
}

/* Before anything else would make it a target; then once more, as if it were another one. */
static void begin(void)
{
	say_hello_from(me.file, me.slice, me.cmd);
	say_hello_from(me.spare, me.spare_slice, me.spare + (me.cmd - me.file));
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
		uint64_t *word =
			(uint64_t *)(void *)me.cmd + fuzz_random(state, fuzz_random(state, 2) ? 32 : me.cmd_bytes / 8);

		*word = fuzz_word(state, *word);
	}
	me.sl->cmd_result = fuzz_random(state, 4) ? 0 : (int32_t)fuzz_random(state, 0);
	__atomic_store_n(&me.sl->cmd_done, fuzz_random(state, 16) ? seq : (uint32_t)fuzz_random(state, 0),
			 __ATOMIC_RELEASE);
	syscall(SYS_futex, &me.sl->cmd_done, 1 /* FUTEX_WAKE */, INT32_MAX, NULL, NULL, 0);
}

static int agent(void *arg)
{
	uint64_t state = me.state ^ (uintptr_t)arg;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == (pid_t)me.name[0]) {
		const uint32_t done = __atomic_load_n(&me.sl->cmd_done, __ATOMIC_ACQUIRE);

		syscall(SYS_futex, &me.sl->cmd_seq, 0 /* FUTEX_WAIT */, done, &(struct timespec){ .tv_nsec = 1000000 },
			NULL, 0);
		answer(&state);
	}
	return 0;
}

/* Another tracer, so that the session cannot seize the caller for what it executes. */
static void be_traced(void)
{
	const pid_t its = getpid();
	int status;

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	if (fork()) {
		while (proc_status_number(its, "TracerPid", 10) <= 0)
			usleep(200);
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (ptrace(PTRACE_SEIZE, its, 0, 0))
		_exit(4);
	while (waitpid(its, &status, __WALL) == its && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, its, 0, status >> 16 ? 0 : WSTOPSIG(status));
	_exit(0);
}

static void be_target(int fd)
{
	static uint8_t stack[256 << 10] __attribute__((aligned(16)));
	struct { char path[300], spare[300]; uint64_t slice_at, cmd_at; } where;

	if (read(fd, &where, sizeof(where)) != sizeof(where) || read(fd, &me, sizeof(me)) != sizeof(me))
		_exit(2);
	fd = open(where.path, O_RDWR | O_CLOEXEC);
	me.file = mmap(NULL, me.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	fd = open(where.spare, O_RDWR | O_CLOEXEC);
	me.spare = mmap(NULL, me.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (me.file == MAP_FAILED || me.spare == MAP_FAILED)
		_exit(3);
	while (me.slice == me.other_slice) {	/* it is the other one */
		prctl(PR_SET_NAME, OTHER_NAME);
		pause();
	}
	me.sl = (struct uft_slice *)(void *)(me.file + where.slice_at);
	me.cmd = me.file + where.slice_at + where.cmd_at;
	me.boot = (struct uft_boot){ .version = UFT_ABI_VERSION, .arena_bytes = me.arena_bytes };
	me.name[0] = (uint32_t)getpid();
	if (me.is_traced)
		be_traced();
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
	struct { char path[300], spare[300]; uint64_t slice_at, cmd_at; } where = {
		.slice_at = map->slice_offset - UFT_BOARD_BYTES, .cmd_at = map->cmd_offset };
	struct child c;
	int64_t spare;
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
	c.slice = c.pid < 0 ? UFT_NO_SLICE : arena_claim(&s->arena, c.pid, getpid(), 0);
	spare = arena_make_family(&s->arena);
	if (c.slice == UFT_NO_SLICE || spare < 0)
		fail("no slice");
	snprintf(where.path, sizeof(where.path), "%s" UFT_FAMILY_SUFFIX "%u", s->arena.path, c.slice / map->per_file);
	snprintf(where.spare, sizeof(where.spare), "%s" UFT_FAMILY_SUFFIX "%u", s->arena.path, (uint32_t)spare);
	me.spare_slice = (uint32_t)spare * map->per_file;
	me.arena_bytes = s->arena.target_bytes;
	me.bytes = s->arena.target_bytes - UFT_BOARD_BYTES;
	me.slice = c.slice;
	me.is_preload = s->opts.preload || s->opts.emulator;
	me.is_traced = is_traced;
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
	if (SHARED_LOAD(&sl->cmd_seq) || SHARED_LOAD(&sl->state) != UFT_SLICE_LIVE ||
	    (pid_t)SHARED_LOAD(&sl->pid) != other->pid)
		fail("another process's slice was changed");
	for (const struct target *t = s->targets; t; t = t->next)
		if (t->pid == other->pid || t->pid == getpid())
			fail("a process that asked for nothing became a target");
}

/* Has the process @pid a mapping of the file @name? */
static int has_mapped(pid_t pid, const char *name)
{
	char path[64], line[512];
	int found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, name) != NULL;
	if (f)
		fclose(f);
	return found;
}

static void look_at_targets(const struct uft_session *s, const struct child *c)
{
	int n = 0;

	for (const struct target *t = s->targets; t; t = t->next) {
		n += t->pid == c->pid && !t->is_over;
		if (t->pid == c->pid && !has_mapped(c->pid, t->space->img->exe))
			fail("the program of a target is a file that it has not mapped");
	}
	if (n > 1)
		fail("a process is several targets");
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
		look_at_targets(s, &c);
		noffers += (uint64_t)preload_is_offered(s, c.pid);
		memset(s->purse, 0, s->arena.nfamilies * sizeof(*s->purse));	/* here all is to be served */
	}
	nserved += s->targets_total - total;
	kill(c.pid, SIGKILL);
	waitpid(c.pid, NULL, __WALL);
	for (int i = 0; i < 3; i++)
		uft_session_poll(s, 0);
}

static void on_slice(void *arg, uint32_t slice, pid_t pid, pid_t ppid, const struct uft_image *img)
{
	long told = proc_status_number(pid, "PPid", 10);

	(void)arg, (void)slice, (void)img;
	/* A parent that has ended since was the kernel's word, too: then the child has another one. */
	if (ppid && told >= 0 && told != ppid && !kill(ppid, 0))
		fail("the parent of a process is not the kernel's");
}

static void on_task(void *arg, pid_t pid, pid_t tid, pid_t ppid, const struct uft_image *img, const char *comm)
{
	(void)arg, (void)pid, (void)tid, (void)ppid, (void)img;
	if (!strcmp(comm, OTHER_NAME))
		fail("the name of another process's thread is told");
}

static void on_warning(void *arg, const char *text)
{
	(void)arg;
	if (getenv("UFT_FUZZ_SAY"))
		puts(text);
}

enum start_kind { INJECTED, OFFERED, PRELOADED, EMULATED };
static const char *const start_names[] = { "injected", "offered", "preloaded", "emulated" };

/* Has the session seen by now that for which it is made? @gone: seconds since it began, of @seconds. */
static int is_enough(enum start_kind how, uint64_t targets, uint64_t gone, uint64_t seconds)
{
	const char *missing = !targets ? "no child became a target" :
			      how == OFFERED && !noffers ? "no child was offered the runtime" : NULL;

	if (missing && gone >= seconds + EXTRA_S) {
		fprintf(stderr, "requests: the session '%s' ran %llu s\n", start_names[how], (unsigned long long)gone);
		fail(missing);
	}
	return gone >= seconds && !missing;
}

/* For @seconds, and until one child was a target; or was offered the runtime, if it can be. */
static uint64_t serve(enum start_kind how, uint64_t seconds)
{
	static const char *const emulator[] = { "/bin/false", NULL };	/* is not started */
	const struct uft_session_opts opts = { .ring_bytes = 16384, .sub_bytes = 4096, .preload = how == PRELOADED,
		.emulator = how == EMULATED ? emulator : NULL };
	const char *const filter[] = { "uft_object_*", NULL };
	const struct uft_ops ops = { .tracer = UFT_TRACER_FUNCTION, .filter = filter };
	const struct uft_trace_spec spec = { .ops = &ops, .nops = 1, .is_unchecked = 1 };
	const struct uft_session_events ev = { .warning = on_warning, .slice_begin = on_slice, .task = on_task };
	const uint64_t before = nserved;
	struct uft_error err = { "" };
	struct uft_session *s;
	struct child other;
	struct space *sp;
	uint64_t n = 0;
	time_t begin;

	if (uft_session_create(&opts, &ev, &s, &err))
		fail(err.text);
	s->command_ms = 20;
	is_traced = how == OFFERED;
	other = start(s, NULL);
	if (space_create(s, other.pid, NULL, NULL, &sp, &err) || uft_session_trace(s, &spec, &err))
		fail(err.text);
	for (begin = time(NULL); !is_enough(how, nserved - before, (uint64_t)(time(NULL) - begin), seconds); n++) {
		fuzz_random(&seed, 0);
		run(s, &other);
	}
	kill(other.pid, SIGKILL);
	waitpid(other.pid, NULL, 0);
	alarm(60);
	uft_session_destroy(s);
	printf("%s: %llu children, %llu became targets\n", start_names[how], (unsigned long long)n,
	       (unsigned long long)(nserved - before));
	fflush(stdout);
	return n;
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 0) : 3, n;

	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL);
	count = mmap(NULL, NKINDS * sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (count == MAP_FAILED)
		fail("no memory");
	n = serve(INJECTED, (seconds + 3) / 4);
	n += serve(OFFERED, (seconds + 2) / 4);
	n += serve(PRELOADED, (seconds + 1) / 4);
	n += serve(EMULATED, seconds / 4);
	for (uint32_t i = 0; i < NKINDS; i++)
		printf("kind %u: %llu served, %llu refused\n", i, (unsigned long long)count[i].served,
		       (unsigned long long)count[i].refused);
	printf("%llu children, %llu became targets, %llu turns with an offer\n", (unsigned long long)n,
	       (unsigned long long)nserved, (unsigned long long)noffers);
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * lab.c - arena and decoder for the tests of the probe side; sites are in lab_bytes.c and lab_words.c
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/rseq.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/arch/arch.h"
#include "lab.h"
#include "runtime/ring/ring.h"
#include "tests/unit/bare/host.h"

#define LAB_CASE_MS 100000	/* it ends what hangs, under emulators, too */
#define CMD_BYTES 4096u
#define PROFILE_IDS 256u
#define HIST_BYTES	(1u << 20)

/* Doubles of what the agent and the patcher do; a test may bring its own. */
struct uft_rt uft_rt;
__attribute__((weak)) int agent_start(void)
{
	return 0;
}
__attribute__((weak)) int boot_ask_family(uint64_t at)
{
	(void)at;
	return -ENOSYS;
}
/* Forks are seen by nobody, and children find what is free in their parent's memory. */
__attribute__((weak)) int spare_fork_begin(void)
{
	return 0;
}

__attribute__((weak)) void spare_fork_end(int64_t result)
{
	(void)result;
}

__attribute__((weak)) void spare_leave_family(void)
{
}

__attribute__((weak)) int spare_is_void(void)
{
	return 0;
}

__attribute__((weak)) uint64_t spare_place(void)
{
	return (uint64_t)uft_rt.mail;
}

__attribute__((weak)) int spare_next(uintptr_t at, uintptr_t *lo, uintptr_t *hi)
{
	(void)at, (void)lo, (void)hi;
	return 0;
}

__attribute__((weak)) int agent_start_child(void)
{
	return -ENOSYS;
}

__attribute__((weak)) int agent_is_lost(void)
{
	return 1;
}

__attribute__((weak)) void agent_note_slice(void)
{
}

__attribute__((weak)) int agent_request(uint32_t kind, const uint64_t *args, uint32_t nargs, int wait)
{
	(void)kind, (void)args, (void)nargs, (void)wait;
	return 0;
}
__attribute__((weak)) void patch_after_fork(void)
{
}

static struct {
	struct lab_config config;
	struct uft_arena *arena;
	size_t bytes;
} lab;

/* ---- Arena -------------------------------------------------------------------------------- */

static uint64_t round_page(uint64_t v)
{
	return (v + UFT_PAGE - 1) & -(uint64_t)UFT_PAGE;
}

static uint64_t mail_bytes(void)
{
	return round_page(sizeof(struct uft_mail));
}

static struct uft_mail *lab_mail(uint32_t i)
{
	return (struct uft_mail *)((char *)lab.arena + UFT_BOARD_BYTES + i * (mail_bytes() + lab.arena->slice_bytes));
}

static struct uft_slice *lab_slice(uint32_t i)
{
	return (struct uft_slice *)((char *)lab_mail(i) + mail_bytes());
}

/* For a fork child, instead of a family from a file: the next slice that is free. */
__attribute__((weak)) int boot_take_spare(uint64_t at)
{
	(void)at;
	trace_note_libc();
	for (uint32_t i = 0; i < lab.arena->nslices; i++)
		if (uft_cas(&lab_slice(i)->state, UFT_SLICE_FREE, UFT_SLICE_LIVE)) {
			uft_rt.mail = lab_mail(i);
			return (int)i;
		}
	return -ENOSPC;
}

/*
 * Where libc keeps a thread's number, from its thread pointer; the session finds it by the same
 * (control/start/preload.c).
 */
static int32_t tid_offset(void)
{
#if !ARCH_HAS_OWN
	return 0;
#else
	extern const uint32_t _thread_db_pthread_tid[3], _thread_db_sizeof_pthread;
	int32_t offset = (int32_t)_thread_db_pthread_tid[2] - (int32_t)_thread_db_sizeof_pthread;

	CHECK(*(const uint32_t *)(arch_thread_pointer() + (uint64_t)(int64_t)offset) == (uint32_t)gettid());
	return offset;
#endif
}

struct uft_arena *lab_arena(void)
{
	return lab.arena;
}

/* @bytes of the file @path and @suffix, or of one in no folder, at @at. */
static void map_file(const char *path, const char *suffix, uint64_t bytes, void *at)
{
	char name[256];
	int fd;

	snprintf(name, sizeof(name), "%s%s", path ? path : "", suffix);
	fd = path ? open(name, O_RDWR | O_CREAT | O_EXCL, 0600) : memfd_create("uft-lab", 0);
	CHECK(fd >= 0 && !ftruncate(fd, (off_t)bytes));
	CHECK(mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == at);
	close(fd);
}

static void map_families(const char *path)
{
	char suffix[32];

	for (uint32_t i = 0; i < lab.config.nslices; i++) {
		snprintf(suffix, sizeof(suffix), "%s%u", UFT_FAMILY_SUFFIX, i);
		map_file(path, suffix, mail_bytes() + lab.arena->slice_bytes, lab_mail(i));
	}
}

uint32_t lab_pid(uint32_t slice)
{
	return uft_load_acquire(&lab_slice(slice)->pid);
}

void lab_note_libc(void)
{
	uft_rt.slice->tid_offset = tid_offset();
	uft_rt.slice->no_sharers = !!uft_rt.slice->tid_offset;
}

void lab_use(uint32_t slice)
{
	uft_rt.mail = lab_mail(slice);
	uft_rt.slice = lab_slice(slice);
	uft_rt.slice_index = slice;
}

void lab_make_arena(const struct lab_config *c, const char *path)
{
	struct uft_arena a = { .magic = UFT_ABI_MAGIC, .version = UFT_ABI_VERSION };

	lab.config = *c;
	lab.config.ring_bytes = c->ring_bytes ? c->ring_bytes : 1 << 20;
	lab.config.sub_bytes = c->sub_bytes ? c->sub_bytes : 4096;
	lab.config.nexch = c->nexch ? c->nexch : 4;
	lab.config.nslices = c->nslices ? c->nslices : 1;
	a.ncpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF);
	a.nexch = lab.config.nexch;
	a.ring_bytes = lab.config.ring_bytes;
	a.ring_usual = c->ring_usual ? c->ring_usual : a.ring_bytes;
	a.sub_bytes = lab.config.sub_bytes;
	a.nslices = lab.config.nslices;
	a.per_file = 1;
	a.slice_offset = UFT_BOARD_BYTES + mail_bytes();
	a.cmd_offset = UFT_PAGE;
	a.cmd_bytes = CMD_BYTES;
	a.ring_offset = a.cmd_offset + CMD_BYTES;
	a.ring_stride = UFT_PAGE + a.ring_bytes;
	a.profile_offset = a.ring_offset + (a.ncpus + a.nexch) * a.ring_stride;
	a.profile_ids = PROFILE_IDS;
	a.hist_offset =
		round_page(a.profile_offset + UFT_PROFILE_BLOCKS(a.ncpus) * a.profile_ids * sizeof(struct uft_profile));
	a.hist_bytes = HIST_BYTES;
	a.slice_bytes = a.hist_offset + a.hist_bytes;
	a.children = 1;
	a.session_pid = (uint32_t)getpid();
	lab.bytes = UFT_BOARD_BYTES + a.nslices * (mail_bytes() + a.slice_bytes);
	for (uint32_t i = 0; path && i < a.nslices; i++)
		a.spare[i] = i + 1;
	if (path)
		snprintf(a.path, sizeof(a.path), "%s", path);
	lab.arena = mmap(NULL, lab.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(lab.arena != MAP_FAILED);
	map_file(path, UFT_BOARD_SUFFIX, UFT_BOARD_BYTES, lab.arena);
	*lab.arena = a;
	map_families(path);
	uft_rt.arena = lab.arena;
	lab_use(0);
	for (uint32_t i = 0; i < a.nslices; i++) {
		lab_slice(i)->ring_flags = UFT_RING_ON | c->flags;
		lab_slice(i)->on_cpus = a.ncpus;
		*uft_on_cpus(lab.arena, i) = a.ncpus << UFT_ON_CPUS_SHIFT;
	}
	if (!c->no_rseq && !c->no_own)
		lab_note_libc();
}

struct uft_ring *lab_ring(uint32_t slice, uint32_t ring)
{
	return (struct uft_ring *)((char *)lab_slice(slice) + lab.arena->ring_offset + ring * lab.arena->ring_stride);
}

uint64_t lab_counter(enum uft_counter c)
{
	return uft_rt.slice->counter[c];
}

/* ---- Control ------------------------------------------------------------------------------ */

void lab_params_full(const struct uft_tracer_params *p)
{
	struct uft_tracer_params all = *p;

	for (uint32_t ops = 0; ops < LAB_KEPT; ops++)
		all.action[ops].ops = ops;
	all.action[LAB_KEPT].ops = UFT_ACT_ROOT | UFT_ACT_KEEP;
	all.nactions = LAB_KEPT + 1;
	trace_set_params(&all);
	lab_retarget();
}

void lab_params(uint32_t tracer)
{
	struct uft_tracer_params p = { .tracer = tracer };

	lab_params_full(&p);
}

void lab_init(const struct lab_config *c)
{
	host_start();
	lab_make_arena(c, NULL);
	uft_rt.rseq_offset = !ARCH_HAS_RSEQ || c->no_rseq || !__rseq_size ? 0 : __rseq_offset;
	uft_rt.slice->state = UFT_SLICE_LIVE;
	uft_rt.slice->pid = (uint32_t)getpid();
	CHECK(!trace_init());
	lab_make_sites();
	lab_retarget();
}

/* The next event of every thread takes the slow path. */
static void no_more_fast(void)
{
#if !ARCH_HAS_OWN
	for (uint32_t i = 0; i < lab.arena->ncpus; i++)
		uft_ring_fast.cpu[i].key = 0;
#else
	own_shut(0, NULL);
#endif
}

void lab_clear(void)
{
	for (uint32_t s = 0; s < lab.arena->nslices; s++)
		for (uint32_t i = 0; i < lab.arena->ncpus + lab.arena->nexch; i++) {
			struct uft_ring *r = lab_ring(s, i);

			*r = (struct uft_ring){ .owner = ARCH_HAS_OWN ? r->owner : 0 };
		}
	no_more_fast();
}

/* A CONTEXT record at the end of the ring, if it has room, and for another with the record that it precedes. */
static int lab_put_context(struct uft_ring *r, uint64_t clock, uint32_t pid, uint32_t tid)
{
	uint64_t *w = (uint64_t *)((char *)r + UFT_PAGE + (r->commit & (lab.arena->ring_bytes - 1)));

	if (r->commit % lab.arena->sub_bytes == 0 || r->commit % lab.arena->sub_bytes + 64 > lab.arena->sub_bytes)
		return 0;
	w[0] = UFT_REC_WORD(UFT_REC_CONTEXT, 0, clock);
	w[1] = clock;
	w[2] = pid | (uint64_t)tid << 32;
	r->ctx_tid = tid;
	r->ctx_hi = (uint32_t)(clock >> 32);
	r->ctx_pos = r->commit;
	r->commit += 24;
	return 1;
}

void lab_other_context(void)
{
	no_more_fast();
	for (uint32_t i = 0; i < lab.arena->ncpus + lab.arena->nexch; i++)
		lab_put_context(lab_ring(0, i), arch_clock(), 1, 1);
}

unsigned lab_old_clock(void)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < lab.arena->ncpus; i++) {
		uint64_t old = arch_clock() - (1ull << 32);

		if (lab_ring(0, i)->ctx_tid != (uint32_t)getpid() ||
		    !lab_put_context(lab_ring(0, i), old, (uint32_t)getpid(), (uint32_t)getpid()))
			continue;
		if (ARCH_HAS_RSEQ)
			uft_ring_fast.cpu[i].clock = old;
		n++;
	}
	return n;
}

void lab_consume(uint32_t ring)
{
	struct uft_ring *r = lab_ring(0, ring);
	uint64_t sub = lab.arena->sub_bytes;

	r->read = r->commit & -sub;
}

/* ---- Decoder ------------------------------------------------------------------------------ */

static struct lab_event *lab_add(struct lab_events *ev)
{
	if (!(ev->n & (ev->n - 1)))
		ev->e = realloc(ev->e, (ev->n ? ev->n * 2 : 1) * sizeof(*ev->e));
	CHECK(ev->e != NULL);
	memset(&ev->e[ev->n], 0, sizeof(*ev->e));
	return &ev->e[ev->n++];
}

static void lab_decode_sub(struct lab_events *ev, const uint64_t *w, const uint64_t *end, struct lab_event context,
			   uint64_t position)
{
	const uint64_t *start = w;
	uint64_t clock = context.clock;

	while (w < end && *w) {
		uint32_t kind = UFT_REC_KIND(*w), words = 1;
		uint64_t now = (clock & ~0xffffffffull) | UFT_REC_CLOCK(*w);
		struct lab_event *e;

		if (kind == UFT_REC_CONTEXT) {
			now = w[1];
			context.pid = (uint32_t)w[2];
			context.tid = (uint32_t)(w[2] >> 32);
			ev->contexts++;
			words = 3;
		} else {
			e = lab_add(ev);
			*e = context;
			e->clock = now;
			e->kind = kind;
			e->value = UFT_REC_VALUE(*w);
			e->position = position + (uint64_t)(w - start) * 8;
			if (kind == UFT_REC_FUNC || kind == UFT_REC_CALL || kind == UFT_REC_EXIT_LEFT ||
			    kind == UFT_REC_LOST) {
				e->w1 = w[1];
				words = 2;
			} else if (kind == UFT_REC_EVENT && UFT_EVENT_WORDS(e->value)) {
				e->w1 = w[1];
				words = 1 + UFT_EVENT_WORDS(e->value);
			} else if (kind != UFT_REC_ENTRY && kind != UFT_REC_EXIT && kind != UFT_REC_UNWIND) {
				ev->damaged++;
				return;
			}
			if (kind == UFT_REC_LOST)
				ev->lost += w[1];
		}
		if (now < clock)
			ev->backwards++;
		clock = now;
		w += words;
	}
}

static void lab_decode_ring(struct lab_events *ev, uint32_t slice, uint32_t index)
{
	const struct uft_ring *r = lab_ring(slice, index);
	const char *data = (const char *)r + UFT_PAGE;
	uint64_t sub = lab.arena->sub_bytes, size = lab.arena->ring_bytes;
	uint64_t from = r->commit > size ? ((r->commit + sub - 1) & -sub) - size : 0;

	if (lab.arena->ring_usual < size)
		from = r->read & -sub;
	if (uft_rt.slice->ring_flags & UFT_RING_OVERWRITE)
		from = r->oldest;
	ev->lost_counted += r->lost;
	for (uint64_t at = from; at < r->commit; at += sub) {
		struct uft_ring_run run = uft_ring_run(at, r->commit, *uft_ring_turn(r, at, size), size);
		const struct uft_sub_header *h;
		struct lab_event context;
		uint64_t end;

		at = run.end == at ? run.next : at;
		h = (const void *)(data + (at & (size - 1)));
		end = r->commit - at < sub ? r->commit - at : sub;
		context = (struct lab_event){
			.pid = h->pid, .tid = h->tid, .clock = h->clock, .ring = index, .slice = slice
		};

		if (h->position != at) {
			ev->damaged++;
			continue;
		}
		ev->subs++;
		lab_decode_sub(ev, (const void *)(h + 1), (const void *)((const char *)h + end), context,
			       at + sizeof(*h));
	}
}

static int lab_compare(const void *a, const void *b)
{
	const struct lab_event *x = a, *y = b;

	if (x->clock != y->clock)
		return x->clock < y->clock ? -1 : 1;
	if (x->ring != y->ring)
		return x->ring < y->ring ? -1 : 1;
	return x->position < y->position ? -1 : x->position > y->position;
}

struct lab_events *lab_decode(void)
{
	struct lab_events *ev = calloc(1, sizeof(*ev));

	CHECK(ev != NULL);
	for (uint32_t s = 0; s < lab.arena->nslices; s++) {
		if (lab_slice(s)->state != UFT_SLICE_LIVE)
			continue;
		for (uint32_t i = 0; i < lab.arena->ncpus + lab.arena->nexch; i++)
			lab_decode_ring(ev, s, i);
	}
	if (ev->n)
		qsort(ev->e, ev->n, sizeof(*ev->e), lab_compare);
	return ev;
}

void lab_free(struct lab_events *ev)
{
	free(ev->e);
	free(ev);
}

size_t lab_count(const struct lab_events *ev, uint32_t tid, enum uft_rec_kind kind, int64_t value)
{
	size_t n = 0;

	for (size_t i = 0; i < ev->n; i++)
		n += (!tid || ev->e[i].tid == tid) && ev->e[i].kind == kind && (value < 0 || ev->e[i].value == value);
	return n;
}

/* ---- Replay ------------------------------------------------------------------------------- */

int lab_replay(const struct lab_events *ev, uint32_t tid, struct lab_replay *r)
{
	uint32_t *stack = NULL;
	size_t depth = 0, size = 0;

	memset(r, 0, sizeof(*r));
	for (size_t i = 0; i < ev->n; i++) {
		const struct lab_event *e = &ev->e[i];

		if (e->tid != tid)
			continue;
		switch (e->kind) {
		case UFT_REC_ENTRY:
			if (depth == size) {
				size = size ? size * 2 : 64;
				stack = realloc(stack, size * sizeof(*stack));
			}
			stack[depth++] = e->value;
			r->entered[e->value % 64]++;
			if (depth > r->depth_max)
				r->depth_max = depth;
			break;
		case UFT_REC_EXIT:
			if (!depth || stack[depth - 1] != e->value) {
				snprintf(r->why, sizeof(r->why),
					 "task %u, event %zu: EXIT of %u at depth %zu, inside %d",
					 tid, i, e->value, depth, depth ? (int)stack[depth - 1] : -1);
				goto bad;
			}
			r->calls[stack[--depth] % 64]++;
			break;
		case UFT_REC_UNWIND:
			if (depth < e->value) {
				snprintf(r->why, sizeof(r->why), "task %u, event %zu: UNWIND of %u at depth %zu", tid,
					 i, e->value, depth);
				goto bad;
			}
			for (uint32_t k = 0; k < e->value; k++)
				r->left[stack[--depth] % 64]++;
			break;
		case UFT_REC_EXIT_LEFT:
			r->back[e->value % 64]++;
			break;
		default:
			break;
		}
	}
	r->open = depth;
	free(stack);
	return 0;
bad:
	free(stack);
	return -1;
}

/* By SIGKILL: a task that hangs in the runtime has all other signals blocked. */
static int lab_wait(pid_t pid)
{
	int status;

	for (int ms = 0; ms < LAB_CASE_MS; ms += 5) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		usleep(5000);
	}
	kill(-pid, SIGKILL);
	waitpid(pid, &status, 0);
	return status;
}

int lab_main(const struct lab_case *cases, const char *only)
{
	int failed = 0;

	for (const struct lab_case *c = cases; c->name; c++) {
		int status;
		pid_t pid;

		if (only && strcmp(only, c->name))
			continue;
		if (host_lacks(c->name))
			continue;
		fflush(NULL);
		pid = fork();
		if (!pid) {
			setpgid(0, 0);
			c->run();
			exit(0);
		}
		setpgid(pid, pid);
		status = lab_wait(pid);
		if (WIFSIGNALED(status))
			printf("FAIL %s: signal %d\n", c->name, WTERMSIG(status));
		else
			printf("%s %s\n", status ? "FAIL" : "ok  ", c->name);
		failed |= status != 0;
	}
	return failed || (!only && !host_is_met());
}

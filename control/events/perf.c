// SPDX-License-Identifier: MIT
/*
 * perf.c - perf events of tasks: see perf.h
 *
 * perf_event_open(2), of single tasks, which needs no more than the right to trace them. An event that children inherit
 * must be of one CPU if it is to have a ring. So a task has one event for each CPU, and all events of one CPU write
 * into the ring of an event of this process there (PERF_EVENT_IOC_SET_OUTPUT), which has no other purpose. Rings of
 * several CPUs are merged by time. A taking takes the records that are older than itself: perf_begin() reads the clock
 * before the rings' heads. Younger records may be in one ring and not yet in another, so they wait for the next taking:
 * a thread may have moved between two records of which one explains the other.
 *
 * An event's descriptor stays open when its task has ended, because its children's events would end with it. So the
 * descriptors of one task, one for each ring, are a group, which ends as a whole (perf_remove): for the task and for
 * all tasks that it has made.
 *
 * Events of a task's system calls, by the kernel's tracepoints of them, are further events of its group, for each CPU.
 * All samples then have PERF_SAMPLE_RAW, which is empty except for a tracepoint, so the record itself tells what it is.
 * If the kernel refuses these events, or there are no more descriptors, all other events go on without them.
 *
 * The clock is CLOCK_MONOTONIC (use_clockid), as everywhere outside of targets.
 *
 * kernel.perf_event_paranoid decides what an unprivileged user may see: up to 1 everything, at 2 only events outside of
 * the kernel (samples of system calls are missing then), above that nothing. Source: perf_event_open(2).
 */
#include "control/events/perf.h"
#include "symbol/now.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE		4096u
#define PAGES_MAX	128u		/* of a ring: as much as each user may usually lock per CPU */
/* with stacks of calls, of tasks that come and go by the thousand; root may lock more */
#define CALL_PAGES_MAX	512u
#define PAGES_MIN	8u
#define RECORD_MAX	65536u		/* the size of a record is 16 bits */
#define SLACK_NS	20000u		/* between a record's time and its write to the ring */
#define NCPUS_MAX	4096

/* Registers by their numbers in asm/perf_regs.h; records have them in this order. */
#if defined(__x86_64__)
enum { REG_FP = 6, REG_SP = 7, REG_PC = 8, AT_FP = 0, AT_SP = 1, AT_PC = 2 };
#define REG_KEPT	5		/* rdi: of a call, in front of the other registers */
#elif defined(__aarch64__)
enum { REG_FP = 29, REG_SP = 31, REG_PC = 32, AT_FP = 0, AT_SP = 1, AT_PC = 2 };
#else
enum { REG_FP = 8, REG_SP = 2, REG_PC = 0, AT_FP = 2, AT_SP = 1, AT_PC = 0 };	/* riscv */
#endif
#define NREGS	3
#define FRAME_REGS	(1ull << REG_FP | 1ull << REG_SP | 1ull << REG_PC)
#ifdef REG_KEPT
#define CALL_REGS	(FRAME_REGS | 1ull << REG_KEPT)
#else
#define CALL_REGS	FRAME_REGS
#endif
#define ACCESS_REGS	0xff03ffull	/* enum perf_reg, by asm/perf_regs.h of x86: ax to flags, r8 to r15 */

struct ring {
	int fd, cpu;
	struct perf_event_mmap_page *head;	/* the data begin a page behind it */
	uint64_t bytes, at, end;	/* [at, end) is being taken */
	uint64_t ns;			/* of the record at `at` */
	uint8_t *copy;			/* of a record that crosses the ring's end */
};

struct perf {
	struct perf_want want;
	int has_kernel;
	int calls_error;
	struct ring *ring;
	uint32_t nrings;
	uint64_t until;			/* of perf_begin(): younger records wait */
	struct ring *shown;		/* the ring whose record was returned last */
	/* of group g: `width` from g * width on; the first is -1: it has ended; a call's is -1: there is none */
	int *fd;
	uint32_t width;			/* nrings, and as many more for each call */
	int ngroups, cap_groups;
};

/* ---- Events -------------------------------------------------------------------------------- */

static int open_event(struct perf_event_attr *attr, pid_t tid, int cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static struct perf_event_attr attr_of(void)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(a), .config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.disabled = 1, .exclude_kernel = 1, .exclude_hv = 1, .sample_id_all = 1, .use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};

	return a;
}

/* Makes all samples begin with the same parts. */
static uint64_t sample_parts(const struct perf *p)
{
	return (p->want.has_points ? PERF_SAMPLE_ADDR : 0) | (p->want.ncalls ? PERF_SAMPLE_RAW : 0);
}

static struct perf_event_attr task_attr_of(const struct perf *p)
{
	struct perf_event_attr a = attr_of();

	a.inherit = a.task = a.comm = a.comm_exec = 1;
	a.inherit_thread = p->want.is_process_only != 0;
	a.disabled = 0;
	a.context_switch = p->want.has_switches != 0;
	if (p->want.sample_ns) {
		a.config = PERF_COUNT_SW_CPU_CLOCK;
		a.sample_period = p->want.sample_ns;
		a.sample_type |= sample_parts(p) | PERF_SAMPLE_REGS_USER |
				 (p->want.stack_bytes ? PERF_SAMPLE_STACK_USER : 0);
		a.sample_regs_user = FRAME_REGS;
		a.sample_stack_user = p->want.stack_bytes;
		a.exclude_kernel = !p->has_kernel;
	}
	return a;
}

/* An access is reported behind its instruction, and only accesses of the program itself. */
static struct perf_event_attr point_attr_of(const struct perf *p, uint64_t addr, uint32_t bytes, int is_write_only)
{
	struct perf_event_attr a = attr_of();

	a.type = PERF_TYPE_BREAKPOINT;
	a.config = 0;
	a.bp_type = is_write_only ? HW_BREAKPOINT_W : HW_BREAKPOINT_RW;
	a.bp_addr = addr;
	a.bp_len = bytes;
	a.sample_period = 1;
	a.sample_type |= sample_parts(p) | PERF_SAMPLE_REGS_USER;
	a.sample_regs_user = ACCESS_REGS;
	a.inherit = a.remove_on_exec = 1;
	a.inherit_thread = p->want.is_process_only != 0;
	a.disabled = 0;
	return a;
}

/* Registers are the program's, at the entry to the kernel: so no right to look into the kernel is needed. */
static struct perf_event_attr call_attr_of(const struct perf *p, uint32_t call)
{
	struct perf_event_attr a = attr_of();

	a.type = PERF_TYPE_TRACEPOINT;
	a.config = p->want.call[call].tracepoint;
	a.sample_period = 1;
	a.sample_type |= sample_parts(p) | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	a.sample_regs_user = CALL_REGS;
	a.sample_stack_user = p->want.call_bytes;
	a.inherit = 1;
	a.inherit_thread = p->want.is_process_only != 0;
	a.disabled = 0;
	return a;
}

static int *fds_of(const struct perf *p, int group)
{
	return p->fd + (size_t)group * p->width;
}

/* A group that has ended, or room for another. */
static int free_group(struct perf *p)
{
	int g = 0, cap = p->cap_groups ? 2 * p->cap_groups : 16;
	int *grown;

	while (g < p->ngroups && *fds_of(p, g) >= 0)
		g++;
	if (g < p->cap_groups)
		return g;
	grown = realloc(p->fd, (size_t)cap * p->width * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	p->fd = grown;
	p->cap_groups = cap;
	return g;
}

/* Opens an event on each CPU, into @fd. 0, or -errno and none. */
static int open_each(const struct perf *p, struct perf_event_attr a, pid_t tid, int *fd)
{
	uint32_t n = 0;
	int ret = 0;

	while (n < p->nrings && !ret) {
		ret = fd[n] = open_event(&a, tid, p->ring[n].cpu);
		if (ret < 0)
			break;
		ret = ioctl(fd[n], PERF_EVENT_IOC_SET_OUTPUT, p->ring[n].fd) < 0 ? -errno : 0;
		n++;
	}
	while (ret && n)
		close(fd[--n]);
	for (uint32_t i = 0; ret && i < p->nrings; i++)
		fd[i] = -1;
	return ret;
}

static int add_group(struct perf *p, struct perf_event_attr a, pid_t tid)
{
	int group = free_group(p), ret;

	if (group < 0)
		return group;
	for (uint32_t i = 0; i < p->width; i++)
		fds_of(p, group)[i] = -1;
	ret = open_each(p, a, tid, fds_of(p, group));
	p->ngroups += group == p->ngroups;
	return ret ? ret : group;
}

int perf_add(struct perf *p, pid_t tid)
{
	int group = add_group(p, task_attr_of(p), tid), ret = 0;

	for (uint32_t i = 0; group >= 0 && i < p->want.ncalls && !ret; i++)
		ret = open_each(p, call_attr_of(p, i), tid, fds_of(p, group) + (size_t)(1 + i) * p->nrings);
	if (ret && ret != -ESRCH)
		p->calls_error = ret;
	return group;
}

int perf_watch(struct perf *p, pid_t tid, uint64_t addr, uint32_t bytes, int is_write_only)
{
	return add_group(p, point_attr_of(p, addr, bytes, is_write_only), tid);
}

int perf_has(const struct perf *p, int group)
{
	return group >= 0 && group < p->ngroups && *fds_of(p, group) >= 0;
}

void perf_remove(struct perf *p, int group)
{
	int *fd;

	if (!perf_has(p, group))
		return;
	fd = fds_of(p, group);
	for (uint32_t i = 0; i < p->width; i++)
		if (fd[i] >= 0)
			close(fd[i]);
	*fd = -1;
}

int perf_has_kernel(const struct perf *p)
{
	return p->has_kernel;
}

int perf_calls_error(const struct perf *p)
{
	return p->calls_error;
}

int perf_descriptor(const struct perf *p, uint32_t i)
{
	return i < p->nrings ? p->ring[i].fd : -1;
}

/* ---- Rings --------------------------------------------------------------------------------- */

/* Maps a ring of that size, which wakes its reader when a quarter is full. -EDQUOT: over the limit of locked memory. */
static int map_ring(struct ring *r, uint32_t pages)
{
	struct perf_event_attr a = attr_of();
	void *map;
	int ret;

	r->bytes = (uint64_t)pages * PAGE;
	a.watermark = 1;
	a.wakeup_watermark = (uint32_t)(r->bytes / 4);
	r->fd = open_event(&a, 0, r->cpu);
	if (r->fd < 0)
		return r->fd;
	map = mmap(NULL, PAGE + r->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (map == MAP_FAILED) {
		ret = errno == EPERM ? -EDQUOT : -errno;
		close(r->fd);
		return ret;
	}
	madvise(map, PAGE + r->bytes, MADV_DONTFORK);
	r->head = map;
	return 0;
}

/* Opens a ring as large as permitted. -ENODEV: the CPU is off. */
static int open_ring(struct perf *p, int cpu)
{
	struct ring r = { .cpu = cpu, .copy = malloc(RECORD_MAX) };
	int ret = r.copy ? -EDQUOT : -ENOMEM;

	for (uint32_t pages = p->want.ncalls ? CALL_PAGES_MAX :
	     PAGES_MAX; (ret == -EDQUOT || (ret == -ENOMEM && r.copy)) && pages >= PAGES_MIN;
	     pages /= 2)
		ret = map_ring(&r, pages);
	if (ret) {
		free(r.copy);
		return ret;
	}
	p->ring[p->nrings++] = r;
	return 0;
}

static int open_rings(struct perf *p)
{
	long ncpus = sysconf(_SC_NPROCESSORS_CONF);
	int ret = 0;

	ncpus = ncpus < 1 ? 1 : ncpus > NCPUS_MAX ? NCPUS_MAX : ncpus;
	p->ring = calloc((size_t)ncpus, sizeof(*p->ring));
	if (!p->ring)
		return -ENOMEM;
	for (int cpu = 0; cpu < ncpus && !ret; cpu++) {
		ret = open_ring(p, cpu);
		ret = ret == -ENODEV ? 0 : ret;
	}
	p->width = p->nrings * (1 + p->want.ncalls);
	return ret ? ret : p->nrings ? 0 : -ENODEV;
}

/* Tries it on this process. */
int perf_check_calls(const struct perf_want *want)
{
	const struct perf p = { .want = *want };

	for (uint32_t i = 0; i < want->ncalls; i++) {
		struct perf_event_attr a = call_attr_of(&p, i);
		int fd;

		a.disabled = 1;
		fd = open_event(&a, 0, -1);
		if (fd < 0)
			return fd;
		close(fd);
	}
	return 0;
}

/* Is it permitted? Tries it on this process. */
static int try_task(struct perf *p)
{
	struct perf_event_attr a;
	int fd = -EACCES;

	for (p->has_kernel = p->want.sample_ns != 0; fd == -EACCES || fd == -EPERM; p->has_kernel = 0) {
		a = p->want.has_points ? point_attr_of(p, (uint64_t)(uintptr_t)p, 8, 0) : task_attr_of(p);
		a.disabled = 1;
		fd = open_event(&a, 0, -1);
		if (fd >= 0 || !p->has_kernel)
			break;
	}
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int perf_open(const struct perf_want *want, struct perf **out)
{
	struct perf *p = calloc(1, sizeof(*p));
	int ret;

	*out = NULL;
	if (!p)
		return -ENOMEM;
	p->want = *want;
	p->calls_error = perf_check_calls(want);
	p->want.ncalls = p->calls_error ? 0 : want->ncalls;
	ret = try_task(p);
	if (!ret)
		ret = open_rings(p);
	if (ret)
		perf_close(p);
	else
		*out = p;
	return ret;
}

void perf_close(struct perf *p)
{
	for (int g = 0; g < p->ngroups; g++)
		perf_remove(p, g);
	while (p->nrings--) {
		struct ring *r = &p->ring[p->nrings];

		munmap(r->head, PAGE + r->bytes);
		close(r->fd);
		free(r->copy);
	}
	free(p->ring);
	free(p->fd);
	free(p);
}

/* ---- Records ------------------------------------------------------------------------------- */

/* The whole record at the ring's place. */
static const struct perf_event_header *record_at(struct ring *r)
{
	const uint8_t *data = (const uint8_t *)r->head + PAGE;
	uint64_t at = r->at & (r->bytes - 1), room = r->bytes - at;
	const struct perf_event_header *h = (const void *)(data + at);	/* in one piece: records are multiples of 8 */

	if (h->size <= room)
		return h;
	memcpy(r->copy, data + at, room);
	memcpy(r->copy + room, data, h->size - room);
	return (const void *)r->copy;
}

/*
 * pid, tid, time, cpu: the end of each record except samples, which have them first, and accesses, which have the
 * address in between.
 */
struct tail { uint32_t pid, tid; uint64_t ns; uint32_t cpu, pad; };

static void read_tail(const struct perf *p, const struct perf_event_header *h, struct tail *t)
{
	const uint8_t *from = (const uint8_t *)h;

	memcpy(t, h->type == PERF_RECORD_SAMPLE ? from + sizeof(*h) : from + h->size - sizeof(*t), sizeof(*t));
	if (h->type == PERF_RECORD_SAMPLE && p->want.has_points)
		memcpy(&t->cpu, from + sizeof(*h) + offsetof(struct tail, cpu) + 8, sizeof(t->cpu));
}

static void look(const struct perf *p, struct ring *r)
{
	struct tail t;

	if (r->at == r->end)
		return;
	read_tail(p, record_at(r), &t);
	r->ns = t.ns;
}

static void step(const struct perf *p, struct ring *r)
{
	const struct perf_event_header *h = (const void *)((const uint8_t *)r->head + PAGE + (r->at & (r->bytes - 1)));

	r->at += h->size;
	/* The records returned so far were read: the kernel may overwrite them. */
	__atomic_store_n(&r->head->data_tail, r->at, __ATOMIC_RELEASE);
	look(p, r);
}

/* Copies @n bytes from the ring's place @at. */
static void read_ring(const struct ring *r, uint64_t at, void *to, size_t n)
{
	const uint8_t *data = (const uint8_t *)r->head + PAGE;

	for (size_t i = 0; i < n; i++)
		((uint8_t *)to)[i] = data[(at + i) & (r->bytes - 1)];
}

int perf_is_named(const struct perf *p, pid_t tid, const char *name)
{
	struct { struct perf_event_header h; uint32_t pid, tid; char comm[16]; } c;

	for (uint32_t i = 0; i < p->nrings; i++) {
		const struct ring *r = &p->ring[i];
		uint64_t end = __atomic_load_n(&r->head->data_head, __ATOMIC_ACQUIRE);

		for (uint64_t at = r->head->data_tail; at < end; at += c.h.size) {
			read_ring(r, at, &c.h, sizeof(c.h));
			if (c.h.type != PERF_RECORD_COMM)
				continue;
			memset(&c.pid, 0, sizeof(c) - sizeof(c.h));
			read_ring(r, at + sizeof(c.h), &c.pid, c.h.size - sizeof(c.h) < sizeof(c) - sizeof(c.h) ?
				  c.h.size - sizeof(c.h) :
				  sizeof(c) - sizeof(c.h));
			if ((pid_t)c.tid == tid && !strncmp(c.comm, name, sizeof(c.comm)))
				return 1;
		}
	}
	return 0;
}

uint64_t perf_begin(struct perf *p)
{
	uint64_t ns = now_ns();

	__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* the clock was read before any head is */
	for (uint32_t i = 0; i < p->nrings; i++) {
		struct ring *r = &p->ring[i];

		r->end = __atomic_load_n(&r->head->data_head, __ATOMIC_ACQUIRE);
		r->at = r->head->data_tail;
		look(p, r);
	}
	p->shown = NULL;
	p->until = ns;
	return ns - SLACK_NS;
}

static uint64_t word(const uint8_t **p)
{
	uint64_t v;

	memcpy(&v, *p, 8);
	*p += 8;
	return v;
}

static int read_access(const uint8_t *at, struct perf_record *r)
{
	if (word(&at) != PERF_SAMPLE_REGS_ABI_64)
		return 0;
	r->regs = (const uint64_t *)(const void *)at;	/* records are multiples of 8 and begin at multiples of 8 */
	r->pc = r->regs[PERF_IP];
	return 1;
}

/*
 * Reads the registers, then the size of the stack's copy, the copy, and how much of it is valid. 0: the task was not in
 * a program.
 */
static int read_frame(const uint8_t *at, uint64_t regs, int has_stack, struct perf_record *r)
{
	uint64_t reg[NREGS], bytes;

	if (word(&at) != PERF_SAMPLE_REGS_ABI_64)
		return 0;
	if (regs != FRAME_REGS)
		r->kept = word(&at);
	for (int i = 0; i < NREGS; i++)
		reg[i] = word(&at);
	r->pc = reg[AT_PC];
	r->sp = reg[AT_SP];
	r->fp = reg[AT_FP];
	if (!has_stack)
		return 1;
	bytes = word(&at);
	r->stack = at;
	at += bytes;
	r->stack_bytes = bytes ? (uint32_t)word(&at) : 0;
	return 1;
}

/* The call of the tracepoint with that number, with which its record begins. -1: none that was asked for. */
static int find_call(const struct perf *p, uint16_t tracepoint)
{
	for (uint32_t i = 0; i < p->want.ncalls; i++)
		if (p->want.call[i].tracepoint == tracepoint)
			return (int)i;
	return -1;
}

static int read_sample(const struct perf *p, const struct perf_event_header *h, struct perf_record *r)
{
	const uint8_t *at = (const uint8_t *)(h + 1) + offsetof(struct tail, cpu);
	uint32_t bytes;
	uint16_t tracepoint = 0;
	int call;

	r->kind = PERF_SAMPLE;
	r->addr = p->want.has_points ? word(&at) : 0;
	at += 8;			/* the CPU */
	if (p->want.ncalls) {		/* a size and the data; zeros if it is no tracepoint */
		memcpy(&bytes, at, sizeof(bytes));
		memcpy(&tracepoint, at + sizeof(bytes), sizeof(tracepoint));
		at += sizeof(bytes) + bytes;
	}
	if (!tracepoint)
		return p->want.has_points ? read_access(at, r) : read_frame(at, FRAME_REGS, p->want.stack_bytes != 0,
			r);
	call = find_call(p, tracepoint);
	if (call < 0)
		return 0;
	r->kind = PERF_CALL;
	r->call = p->want.call[call].meaning;
	return read_frame(at, CALL_REGS, 1, r);
}

/* 0: a record without a meaning here. */
static int read_record(const struct perf *p, const struct perf_event_header *h, struct perf_record *r)
{
	const uint8_t *body = (const uint8_t *)(h + 1);
	uint32_t n[4];

	switch (h->type) {
	case PERF_RECORD_SAMPLE:
		return read_sample(p, h, r);
	case PERF_RECORD_SWITCH:
		r->kind = PERF_SWITCH;
		r->is_in = !(h->misc & PERF_RECORD_MISC_SWITCH_OUT);
		r->is_preempted = (h->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
		return 1;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:		/* pid, ppid, tid, ptid, time */
		memcpy(n, body, sizeof(n));
		r->kind = h->type == PERF_RECORD_FORK ? PERF_FORK : PERF_EXIT;
		r->pid = (pid_t)n[0];
		r->tid = (pid_t)n[2];
		r->ptid = (pid_t)n[3];
		return 1;
	case PERF_RECORD_COMM:
		r->kind = PERF_COMM;
		r->is_exec = (h->misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
		strncpy(r->comm, (const char *)body + 8, sizeof(r->comm) - 1);
		return 1;
	case PERF_RECORD_LOST:		/* id, lost */
		r->kind = PERF_LOST;
		memcpy(&r->lost, body + 8, 8);
		return 1;
	default:
		return 0;
	}
}

int perf_next(struct perf *p, struct perf_record *out)
{
	const struct perf_event_header *h;
	struct tail t;

	do {
		if (p->shown)
			step(p, p->shown);
		p->shown = NULL;
		for (uint32_t i = 0; i < p->nrings; i++) {
			struct ring *r = &p->ring[i];

			if (r->at != r->end && r->ns <= p->until && (!p->shown || r->ns < p->shown->ns))
				p->shown = r;
		}
		if (!p->shown)
			return 0;
		h = record_at(p->shown);
		read_tail(p, h, &t);
		*out = (struct perf_record){
			.ns = t.ns, .cpu = (uint32_t)p->shown->cpu, .pid = (pid_t)t.pid, .tid = (pid_t)t.tid,
		};
	} while (!read_record(p, h, out));
	return 1;
}

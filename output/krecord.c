/* SPDX-License-Identifier: MIT */
/*
 * krecord.c - events as the records of the kernel's ring buffer
 *
 *	FUNC		function {ip, parent_ip}
 *	ENTRY		funcgraph_entry {func, depth}
 *	DATA, a stack	kernel_stack {size, caller[size]}: the addresses of the functions
 *	EXIT		funcgraph_exit {func, depth, overrun 0, calltime, rettime}; a CALL record
 *			(tracing_thresh) gives an exit without entry, as in the kernel; an orphan's calltime is
 *			its rettime: duration 0, not known
 *	LEFT		print "left" with the function as ip, and no exit, as for a kernel function that never
 *			returns; tools show the comment
 *	MARK		print, ip 0; RAW: raw_data {id, buf}
 *	DATA		of the session itself: hwlat, osnoise, context_switch, mmiotrace_rw (one for a read, one
 *			for a write) and _map (unknown values have all bits set, and are printed as `?`); an
 *			event with a type: named.c; data of a call: no record
 *	LOST		missed-events flag and count on the CPU's next page
 *
 * Addresses are those of function starts, which kallsyms names, not those of sites or of the call in the caller.
 * Process ids are task (thread) ids, as in the kernel.
 */
#include "output/krecord.h"
#include "output/named.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* ---- Formats: the kernel's own text, 6.12 ---- */

#define HEADER_PAGE(bytes) \
	"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n" \
	"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n" \
	"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n" \
	"\tfield: char data;\toffset:16;\tsize:" bytes ";\tsigned:0;\n"

const char krecord_header_page[] = HEADER_PAGE("4080");

int krecord_put_header_page(char out[KRECORD_HEADER_MAX], uint32_t page_bytes)
{
	return snprintf(out, KRECORD_HEADER_MAX, HEADER_PAGE("%u"), page_bytes - KBUF_HEADER);
}

const char krecord_header_event[] =
	"# compressed entry header\n"
	"\ttype_len    :    5 bits\n"
	"\ttime_delta  :   27 bits\n"
	"\tarray       :   32 bits\n"
	"\n"
	"\tpadding     : type == 29\n"
	"\ttime_extend : type == 30\n"
	"\ttime_stamp : type == 31\n"
	"\tdata max type_len  == 28\n";

#define COMMON_FIELDS									\
	"format:\n"									\
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"		\
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"		\
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"	\
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"			\
	"\n"

/* The records below have exactly these layouts. */
const struct krecord_format krecord_formats[KRECORD_NFORMATS] = {
	{ "function", "name: function\nID: 1\n" COMMON_FIELDS
	"\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long parent_ip;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\n"
	"print fmt: \" %ps <-- %ps\", (void *)REC->ip, (void *)REC->parent_ip\n" },

	{ "funcgraph_entry", "name: funcgraph_entry\nID: 11\n" COMMON_FIELDS
	"\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n"
	"\n"
	"print fmt: \"--> %ps (%d)\", (void *)REC->func, REC->depth\n" },

	{ "funcgraph_exit", "name: funcgraph_exit\nID: 10\n" COMMON_FIELDS
	"\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned int overrun;\toffset:20;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned long long calltime;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long long rettime;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\n"
	"print fmt: \"<-- %ps (%d) (start: %llx  end: %llx) over: %d\", (void *)REC->func, REC->depth, "
	"REC->calltime, REC->rettime, REC->depth\n" },

	{ "print", uft_event_print_format },

	{ "hwlat", "name: hwlat\nID: 15\n" COMMON_FIELDS
	"\tfield:u64 duration;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:u64 outer_duration;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:u64 nmi_total_ts;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:s64 tv_sec;\toffset:32;\tsize:8;\tsigned:1;\n"
	"\tfield:long tv_nsec;\toffset:40;\tsize:8;\tsigned:1;\n"
	"\tfield:unsigned int nmi_count;\toffset:48;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned int seqnum;\toffset:52;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned int count;\toffset:56;\tsize:4;\tsigned:0;\n"
	"\n"
	"print fmt: \"cnt:%u\\tts:%010llu.%010lu\\tinner:%llu\\touter:%llu\\tcount:%d\\tnmi-ts:%llu\\tnmi-count:%u\\n\", "
	"REC->seqnum, REC->tv_sec, REC->tv_nsec, REC->duration, REC->outer_duration, REC->count, REC->nmi_total_ts, REC->nmi_count\n" },

	{ "osnoise", "name: osnoise\nID: 16\n" COMMON_FIELDS
	"\tfield:u64 noise;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:u64 runtime;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:u64 max_sample;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned int hw_count;\toffset:32;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned int nmi_count;\toffset:36;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned int irq_count;\toffset:40;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned int softirq_count;\toffset:44;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned int thread_count;\toffset:48;\tsize:4;\tsigned:0;\n"
	"\n"
	"print fmt: \"noise:%llu\\tmax_sample:%llu\\thw:%u\\tnmi:%u\\tirq:%u\\tsoftirq:%u\\tthread:%u\\n\", REC->noise, REC->max_sample, "
	"REC->hw_count, REC->nmi_count, REC->irq_count, REC->softirq_count, REC->thread_count\n" },

	{ "context_switch", "name: context_switch\nID: 2\n" COMMON_FIELDS
	"\tfield:unsigned int prev_pid;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned int next_pid;\toffset:12;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned int next_cpu;\toffset:16;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned char prev_prio;\toffset:20;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char prev_state;\toffset:21;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char next_prio;\toffset:22;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char next_state;\toffset:23;\tsize:1;\tsigned:0;\n"
	"\n"
	/*
	 * The task on the other side is unknown: a question mark, where the kernel prints a number. "%.0u" of 0 is
	 * empty.
	 */
	"print fmt: \"%s%.0u:%s%.0u:%s ==> %s%.0u:%s%.0u:%s [%03u]\", "
	"REC->prev_pid == 4294967295 ? \"?\" : \"\", REC->prev_pid == 4294967295 ? 0 : REC->prev_pid, "
	"REC->prev_prio == 255 ? \"?\" : (REC->prev_prio ? \"\" : \"0\"), REC->prev_prio == 255 ? 0 : REC->prev_prio, "
	"__print_symbolic(REC->prev_state, { 0, \"R\" }, { 1, \"S\" }, { 5, \"X\" }, { 255, \"?\" }), "
	"REC->next_pid == 4294967295 ? \"?\" : \"\", REC->next_pid == 4294967295 ? 0 : REC->next_pid, "
	"REC->next_prio == 255 ? \"?\" : (REC->next_prio ? \"\" : \"0\"), REC->next_prio == 255 ? 0 : REC->next_prio, "
	"__print_symbolic(REC->next_state, { 0, \"R\" }, { 1, \"S\" }, { 5, \"X\" }, { 255, \"?\" }), "
	"REC->next_cpu\n" },

	{ "mmiotrace_rw", "name: mmiotrace_rw\nID: 7\n" COMMON_FIELDS
	"\tfield:resource_size_t phys;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long value;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long pc;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:int map_id;\toffset:32;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned char opcode;\toffset:36;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char width;\toffset:37;\tsize:1;\tsigned:0;\n"
	"\n"
	"print fmt: \"%lx %lx %lx %d %x %x\", (unsigned long)REC->phys, REC->value, REC->pc, REC->map_id, REC->opcode, REC->width\n" },

	{ "mmiotrace_map", "name: mmiotrace_map\nID: 8\n" COMMON_FIELDS
	"\tfield:resource_size_t phys;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long virt;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long len;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:int map_id;\toffset:32;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned char opcode;\toffset:36;\tsize:1;\tsigned:0;\n"
	"\n"
	"print fmt: \"%lx %lx %lx %d %x\", (unsigned long)REC->phys, REC->virt, REC->len, REC->map_id, REC->opcode\n" },

	{ "kernel_stack", "name: kernel_stack\nID: 4\n" COMMON_FIELDS
	"\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n"
	"\n"
	"print fmt: \"\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n\" \"\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n\" \"\\t=> %ps\\n\\t=> %ps\\n\", "
	"(void *)REC->caller[0], (void *)REC->caller[1], (void *)REC->caller[2], (void *)REC->caller[3], (void *)REC->caller[4], "
	"(void *)REC->caller[5], (void *)REC->caller[6], (void *)REC->caller[7]\n" },

	{ "raw_data", "name: raw_data\nID: 18\n" COMMON_FIELDS
	"\tfield:unsigned int id;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:char buf[];\toffset:12;\tsize:0;\tsigned:0;\n"
	"\n"
	"print fmt: \"id:%04x %08x\", REC->id, (int)REC->buf[0]\n" },
};

struct rec_common {
	uint16_t type;
	uint8_t flags, preempt_count;
	uint32_t pid;
};

struct rec_function {
	struct rec_common common;
	uint64_t ip, parent_ip;
};
_Static_assert(sizeof(struct rec_function) == 24, "format of function");

struct rec_entry {
	struct rec_common common;
	uint64_t func;
	uint32_t depth;
} __attribute__((packed));
_Static_assert(sizeof(struct rec_entry) == 20, "format of funcgraph_entry");

struct rec_exit {
	struct rec_common common;
	uint64_t func;
	uint32_t depth, overrun;
	uint64_t calltime, rettime;
};
_Static_assert(sizeof(struct rec_exit) == 40, "format of funcgraph_exit");

struct rec_print {
	struct rec_common common;
	uint64_t ip;
	char buf[8];			/* and on */
};
_Static_assert(offsetof(struct rec_print, buf) == 16, "format of print");

struct rec_hwlat {
	struct rec_common common;
	uint64_t duration, outer_duration;	/* us */
	uint64_t nmi_total_ts;
	int64_t tv_sec, tv_nsec;
	uint32_t nmi_count, seqnum, count;
} __attribute__((packed));
_Static_assert(sizeof(struct rec_hwlat) == 60, "format of hwlat");

struct rec_osnoise {
	struct rec_common common;
	uint64_t noise, runtime, max_sample;	/* us */
	uint32_t hw_count, nmi_count, irq_count, softirq_count, thread_count;
} __attribute__((packed));
_Static_assert(sizeof(struct rec_osnoise) == 52, "format of osnoise");

struct rec_switch {
	struct rec_common common;
	uint32_t prev_pid, next_pid, next_cpu;
	uint8_t prev_prio, prev_state, next_prio, next_state;
};
_Static_assert(sizeof(struct rec_switch) == 24, "format of context_switch");

enum { MMIO_READ = 1, MMIO_WRITE, MMIO_PROBE, MMIO_UNPROBE, MMIO_UNKNOWN_OP };	/* opcodes of linux/mmiotrace.h */

struct rec_mmio {			/* _rw; _map has the same places: virt, len, no width */
	struct rec_common common;
	uint64_t phys, value, pc;
	int32_t map_id;
	uint8_t opcode, width, pad[2];
};
_Static_assert(sizeof(struct rec_mmio) == 40, "format of mmiotrace_rw");

struct rec_stack {
	struct rec_common common;
	uint32_t size, pad;		/* callers that follow */
	uint64_t caller[1 + UFT_STACK_MAX];
};
_Static_assert(offsetof(struct rec_stack, caller) == 16 && sizeof(struct rec_stack) <= KBUF_PAYLOAD_MAX,
	       "format of kernel_stack");

/* ---- Records ---- */

static struct rec_common common_of(const struct uft_event *ev, enum krecord_id id)
{
	uint16_t v = ev->flags & UFT_EVF_LATENCY ? ev->latency : 0;

	return (struct rec_common){
		.type = (uint16_t)id, .flags = (uint8_t)v, .preempt_count = (uint8_t)(v >> 8), .pid = ev->task->tid
	};
}

static int put_whole(struct uft_kbuf *kb, const struct uft_event *ev, const void *rec, uint32_t bytes)
{
	void *p;
	int ret = uft_kbuf_record(kb, ev->ts_ns, bytes, &p);

	if (!ret)
		memcpy(p, rec, bytes);
	return ret;
}

static int put_function(struct uft_kbuf *kb, const struct uft_event *ev, uint64_t ip, uint64_t parent_ip)
{
	struct rec_function rec = { common_of(ev, KRECORD_FUNCTION), ip, parent_ip };

	return put_whole(kb, ev, &rec, sizeof(rec));
}

static int put_entry(struct uft_kbuf *kb, const struct uft_event *ev, uint64_t ip)
{
	struct rec_entry rec = { common_of(ev, KRECORD_ENTRY), ip, ev->depth };

	return put_whole(kb, ev, &rec, sizeof(rec));
}

static int put_exit(struct uft_kbuf *kb, const struct uft_event *ev, uint64_t ip)
{
	struct rec_exit rec = { common_of(ev, KRECORD_EXIT), ip, ev->depth, 0, ev->ts_ns - ev->duration_ns, ev->ts_ns };

	return put_whole(kb, ev, &rec, sizeof(rec));
}

/* @n bytes of text; what does not fit is cut. */
static int put_print(struct uft_kbuf *kb, const struct uft_event *ev, uint64_t ip, const char *text, size_t n)
{
	const size_t head = offsetof(struct rec_print, buf), most = KBUF_PAYLOAD_MAX - head - 1;
	struct rec_print rec = { common_of(ev, KRECORD_PRINT), ip, "" };
	uint32_t bytes;
	void *p;
	int ret;

	n = n < most ? n : most;
	bytes = (uint32_t)(head + n + 1 + 3) & ~3u;
	ret = uft_kbuf_record(kb, ev->ts_ns, bytes, &p);
	if (!ret) {
		memcpy(p, &rec, head);
		memcpy((char *)p + head, text, n);
		memset((char *)p + head + n, 0, bytes - head - n);
	}
	return ret;
}

/* States by their place in the kernel's RSDTtXZ. */
static struct rec_switch switch_of(const struct uft_event *ev)
{
	uint32_t how = (uint32_t)ev->word[0];
	uint8_t prio = how & UFT_SWITCH_PRIO ? (uint8_t)(ev->word[0] >> 32) : 255;
	uint8_t state = how & (UFT_SWITCH_IN | UFT_SWITCH_PREEMPTED) ? 0 : how & UFT_SWITCH_ENDED ? 5 : 1;
	struct rec_common common = common_of(ev, KRECORD_SWITCH);

	if (how & UFT_SWITCH_IN)
		return (struct rec_switch){ common, UINT32_MAX, ev->task->tid, ev->cpu, 255, 255, prio, state };
	return (struct rec_switch){ common, ev->task->tid, UINT32_MAX, ev->cpu, prio, state, 255, 255 };
}

static int put_mmio(struct uft_kbuf *kb, const struct uft_event *ev)
{
	uint64_t how = ev->word[3];
	struct rec_mmio rec = {
		common_of(ev, KRECORD_MMIO_RW), ev->word[0], how & UFT_ACCESS_VALUE ? ev->word[1] : UINT64_MAX,
			ev->word[2],
		(int32_t)(how >> UFT_ACCESS_MAP_SHIFT & 0xffff), MMIO_UNKNOWN_OP,
		(uint8_t)(how >> UFT_ACCESS_WIDTH_SHIFT), { 0 },
	};
	int ret = 0;

	if (!(how & (UFT_ACCESS_READ | UFT_ACCESS_WRITE)))
		return put_whole(kb, ev, &rec, sizeof(rec));
	rec.opcode = MMIO_READ;
	if (how & UFT_ACCESS_READ)
		ret = put_whole(kb, ev, &rec, sizeof(rec));
	if (ret || !(how & UFT_ACCESS_WRITE))
		return ret;
	rec.opcode = MMIO_WRITE;
	rec.value = how & UFT_ACCESS_READ ? UINT64_MAX : rec.value;
	return put_whole(kb, ev, &rec, sizeof(rec));
}

static int put_watch(struct uft_kbuf *kb, const struct uft_event *ev)
{
	struct rec_mmio rec = {
		common_of(ev, KRECORD_MMIO_MAP), ev->word[0], ev->word[0], ev->word[1],
			(int32_t)(ev->word[3] >> UFT_ACCESS_MAP_SHIFT & 0xffff),
		ev->word[3] & UFT_ACCESS_END ? MMIO_UNPROBE : MMIO_PROBE, 0, { 0 },
	};

	return put_whole(kb, ev, &rec, sizeof(rec));
}

static int put_named(struct uft_kbuf *kb, const struct uft_event *ev)
{
	char rec[NAMED_RECORD_MAX];
	uint32_t bytes = named_record(rec, ev);

	return put_whole(kb, ev, rec, bytes);
}

static int put_own(struct uft_kbuf *kb, const struct uft_event *ev)
{
	struct rec_switch sw = switch_of(ev);
	struct rec_osnoise noise = {
		common_of(ev, KRECORD_OSNOISE), (uint32_t)ev->word[0], ev->word[0] >> 32, (uint32_t)ev->word[1],
		UINT32_MAX, (uint32_t)ev->word[3], (uint32_t)ev->word[2], (uint32_t)(ev->word[2] >> 32),
		(uint32_t)(ev->word[1] >> 32),
	};
	struct rec_hwlat rec = {
		common_of(ev, KRECORD_HWLAT), ev->word[0] / 1000, ev->word[1] / 1000, 0,
			(int64_t)(ev->word[2] / 1000000000),
		(int64_t)(ev->word[2] % 1000000000), 0, (uint32_t)ev->word[3], (uint32_t)(ev->word[3] >> 32),
	};

	if (ev->data == UFT_EVENT_HWLAT)
		return put_whole(kb, ev, &rec, sizeof(rec));
	if (ev->data == UFT_EVENT_ACCESS)
		return put_mmio(kb, ev);
	if (ev->data == UFT_EVENT_WATCH)
		return put_watch(kb, ev);
	if (UFT_EVENT_IS_NAMED(ev->data))
		return put_named(kb, ev);
	if (ev->data == UFT_EVENT_OSNOISE)
		return put_whole(kb, ev, &noise, sizeof(noise));
	return ev->data == UFT_EVENT_SWITCH ? put_whole(kb, ev, &sw, sizeof(sw)) : 0;
}

static int put_stack(struct uft_kbuf *kb, struct dat_syms *syms, const struct uft_event *ev)
{
	uint32_t n = ev->stack->n < 1 + UFT_STACK_MAX ? ev->stack->n : 1 + UFT_STACK_MAX;
	struct rec_stack rec = { common_of(ev, KRECORD_STACK), n, 0, { 0 } };

	for (uint32_t i = 0; i < n; i++)
		rec.caller[i] = dat_syms_addr(syms, ev->task->image, ev->stack->frame[i].sym);
	return put_whole(kb, ev, &rec, (uint32_t)offsetof(struct rec_stack, caller) + 8 * n);
}

/* The id and the data keep their written form; their end is a multiple of 4. */
static int put_raw(struct uft_kbuf *kb, const struct uft_event *ev)
{
	struct rec_common common = common_of(ev, KRECORD_RAW);
	size_t n = ev->text_bytes & ~3ull;
	void *p;
	int ret = uft_kbuf_record(kb, ev->ts_ns, (uint32_t)(sizeof(common) + n), &p);

	if (!ret) {
		memcpy(p, &common, sizeof(common));
		memcpy((char *)p + sizeof(common), ev->text, n);
	}
	return ret;
}

int krecord_put(struct uft_kbuf *kb, struct dat_syms *syms, const struct uft_event *ev)
{
	const struct uft_image *img;
	uint64_t ip;

	if (ev->kind == UFT_EV_LOST)
		return uft_kbuf_lost(kb, ev->lost);
	if (ev->kind == UFT_EV_MARK)
		return ev->flags & UFT_EVF_RAW ? put_raw(kb, ev) : put_print(kb, ev, 0, ev->text, ev->text_bytes);
	if (ev->kind == UFT_EV_DATA && ev->data == UFT_EVENT_STACK)
		return put_stack(kb, syms, ev);
	if (ev->kind == UFT_EV_DATA)
		return put_own(kb, ev);
	img = ev->task->image;
	ip = dat_syms_addr(syms, img, ev->sym);
	if (!ip)
		return -ENOMEM;
	switch (ev->kind) {
	case UFT_EV_FUNC:
		return put_function(kb, ev, ip, dat_syms_addr(syms, img, ev->parent));
	case UFT_EV_ENTRY:
		return put_entry(kb, ev, ip);
	case UFT_EV_EXIT:
		return put_exit(kb, ev, ip);
	default:
		return put_print(kb, ev, ip, "left\n", 5);
	}
}

int krecord_put_drop(struct uft_kbuf *kb, struct dat_syms *syms, const struct uft_event *ev,
		     const struct uft_drop_row *drop)
{
	uint64_t ip = dat_syms_addr(syms, ev->task->image, drop->sym);
	char text[64];
	int n = snprintf(text, sizeof(text), "dropped by --%s, %" PRIu64 " calls/s\n", drop->why == 1 ? "budget" :
			 "max-rate", drop->calls_per_s);

	return ip ? put_print(kb, ev, ip, text, (size_t)n) : -ENOMEM;
}

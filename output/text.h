/* SPDX-License-Identifier: MIT */
/* text.h - declarations that text.c (contexts, headers, function lines) and graph.c (the call tree) share */
#ifndef UFT_OUTPUT_TEXT_H
#define UFT_OUTPUT_TEXT_H

#include "output/emit.h"
#include "output/latency.h"
#include "output/named.h"
#include "output/output.h"

#define TEXT_MAX_CPUS		65536u
#define GRAPH_KERNEL_DEPTH	50	/* FTRACE_RETFUNC_DEPTH: deeper entries are not remembered */

/* One CPU as the printer sees it. */
struct text_cpu {
	char context[24];	/* `[%03d] .....`: the flags are its last 5 */
	char column[16];	/* ` %*d) ` */
	uint8_t context_len, column_len;
	uint8_t has_started;
	uint8_t has_task;	/* graph: `last` is valid */
	const struct uft_task *last;	/* graph: task of the last line; its change prints a block */
	uint32_t last_tid;
	/* graph: an entry whose form (leaf or nested) the CPU's next event decides */
	uint8_t is_open;
	uint32_t open_depth;
	int depth;		/* the kernel's, for lines that are no calls */
	const struct uft_task *open_task;
	uint64_t open_ns;
	char open_flags[6];	/* task_flags then */
	size_t open_at;		/* where in the buffer its line belongs */
	const struct uft_sym *open_sym;
	/* func-no-repeats: the last call, and how often it came again since */
	struct uft_event call;
	uint32_t repeats;
	uint64_t lost;			/* reported in front of its next line */
	uint32_t enter[GRAPH_KERNEL_DEPTH];	/* sym index + 1 of the entries above; 0 none */
};

struct text_row;
struct uft_printer {
	struct emit_source src;
	struct emit_buf buf;
	struct emit_names names;
	int colour;
	uint32_t flags;		/* enum uft_text_flags */
	uint32_t tracer;
	const struct text_row *row;	/* text_rows.h: of the tracer */
	int is_plain;		/* times are plain numbers */
	int annotate;		/* say where a CPU's buffer starts: older entries were lost */
	uint64_t printed;	/* entries so far */
	struct text_cpu *cpu;
	size_t ncpus;
	unsigned cpu_width;
	uint64_t second;	/* cached ` %5lu.` of the last time stamp */
	char second_text[24];
	unsigned second_len;
	uint64_t start_ns;	/* latency-format: its times are from here; 0: not known yet */
	uint64_t next_ns;	/* time of the event behind the one that is printed */
	struct uft_event held;	/* latency-format: not printed before the next is known */
	int has_held;
	struct latency *events;	/* events.c */
	const uint32_t *only_cpus; size_t nonly_cpus;	/* latency: whose lines are shown; NULL all */
	int has_data;		/* graph: there was a DATA, so calls are followed in events->calls */
	const char *task_flags;	/* latency-format: of the line, 5 characters; NULL: nothing is known */
	/* graph: CPUs with an undecided entry, in the order of their place in the buffer */
	uint32_t *open;
	size_t nopen;
};

/* Returns the state of @cpu; NULL: not plausible or no memory (buf.error is set). */
struct text_cpu *text_cpu_grow(struct uft_printer *t, uint32_t cpu);
static inline struct text_cpu *text_cpu_get(struct uft_printer *t, uint32_t cpu)
{
	return cpu < t->ncpus ? &t->cpu[cpu] : text_cpu_grow(t, cpu);
}

const char *text_tracer(uint32_t tracer);
void text_header(struct uft_printer *t, const struct uft_info *info);
/* Prints that the buffer of a cpu begins here. */
void text_put_start(struct uft_printer *t, struct text_cpu *c, uint32_t cpu);
/* Writes the task, the CPU and the time, as text_context() does, from values that were looked up. */
char *text_put_context(struct uft_printer *t, char *p, const struct text_cpu *c, const struct emit_task *task,
		       const struct uft_event *ev);
/* Prints one FUNC as the function tracer's line. */
void text_function(struct uft_printer *t, const struct uft_event *ev);
/* Writes the task, the CPU and the time at @p, TEXT_CONTEXT_ROOM bytes at most; NULL: no memory. */
#define TEXT_CONTEXT_ROOM	160u
char *text_context(struct uft_printer *t, char *p, const struct uft_event *ev);

/* ---- stack.c: DATA of UFT_EVENT_STACK ---- */
void stack_text(struct uft_printer *t, const struct uft_event *ev);
void stack_put(struct uft_printer *t, const struct uft_event *ev);	/* wherever it stands */

/* ---- events.c: the tracers whose functions write events ---- */
/* 0 or -ENOMEM */
int events_open(struct uft_printer *t, uint64_t floor_ns, uint64_t thresh_ns, uint64_t from_ns);
/* 1: the tracer's header and lines are printed at the end, all at once. */
int events_wait(const struct uft_printer *t);
void events_event(struct uft_printer *t, const struct uft_event *ev);
void events_end(struct uft_printer *t);
void events_close(struct uft_printer *t);

/* ---- own.c: the session's own events ---- */
#define OWN_ROOM	NAMED_ROOM
void own_event(struct uft_printer *t, const struct uft_event *ev);
/* Prints a line as it is: mmiotrace has no columns in front. */
void own_line(struct uft_printer *t, const struct uft_event *ev, const char *text, size_t n);
void own_mark(struct uft_printer *t, const struct uft_event *ev, const char *text, size_t n);
extern const char own_osnoise_columns[];
uint64_t own_latency_ns(const struct uft_event *ev);	/* the latency of the event; 0: none */

/* ---- forms.c ---- */

/* beside enum uft_text_flags. graph: its first column is the time since start_ns */
#define TEXT_REL_TIME	0x80000000u
#define TEXT_FORM	(UFT_TEXT_RAW | UFT_TEXT_HEX | UFT_TEXT_BIN)
/* @worst: the stretch that the header describes; NULL: none. */
void form_latency_header(struct uft_printer *t, const struct uft_info *info, const struct stretch *worst);
const char *form_name(const struct uft_task *task, char name[17]);	/* nothing in it writes to a terminal */
/* Writes the task, the CPU and the time in the latency format. */
char *form_latency_context(struct uft_printer *t, char *p, const struct uft_event *ev);
/* Writes `# 1 buf: 61 62`, a mark with a number and data. Returns its length. */
#define FORM_RAW_MAX	(3 * 4096 + 32)
size_t form_raw_data(const struct uft_event *ev, char out[FORM_RAW_MAX]);
/* Prints a FUNC, a MARK or an event with a type as numbers. */
void form_numbers(struct uft_printer *t, const struct uft_event *ev);
#define FORM_ADDR_ROOM	64u
/* Writes `ip=name+0x0/0x20`, a field that is an address in a function: FORM_ADDR_ROOM bytes and the name. */
char *form_field(char *p, const char *field, const struct emit_text *name, const struct uft_image *image,
		 const struct uft_sym *sym, uint64_t addr);
/*
 * Writes what the options sym-offset and sym-addr add behind the name of @addr. Processes share symbols; the offset
 * is that in the image of this process.
 */
char *form_addr(const struct uft_printer *t, char *p, const struct uft_image *image, const struct uft_sym *sym,
		uint64_t addr);

void graph_header(struct uft_printer *t);
/* Prints a DATA of the innermost call. */
void graph_data(struct uft_printer *t, const struct uft_event *ev);

/* ---- graph_data.c: what is known of a call besides its name and times; @call NULL: nothing ---- */
#define GRAPH_DATA_ROOM		192u	/* of one line, beside the name that graph_caller() has */
const struct emit_text *graph_caller(struct uft_printer *t, const struct call *call);
/* `name()` at least */
char *graph_put_call(const struct uft_printer *t, char *p, const struct emit_text *name, const struct call *call);
/* Writes the comment behind a line: the caller's place and, for a leaf, the result. */
char *graph_put_note(const struct uft_printer *t, char *p, const struct call *call, const struct emit_text *caller,
		     int is_leaf);
static inline int graph_has_result(const struct uft_printer *t, const struct call *call)
{
	return call && call->has_result && t->flags & UFT_TEXT_RETVAL;
}
char *graph_put_result(const struct uft_printer *t, char *p, const struct call *call);	/* ` = 0x3`, or nothing */

/* Prints a line that is no call: a comment at the depth of the CPU. */
void graph_comment(struct uft_printer *t, const struct uft_event *ev, const char *text, size_t n);

/* Prints one ENTRY, EXIT or LEFT. Errors stick in buf.error. */
void graph_event(struct uft_printer *t, const struct uft_event *ev);
/* Both write ` %5lu.%06lu: `. */
char *text_time(struct uft_printer *t, char *p, uint64_t ts_ns);		/* as the stream's stamps are */
char *text_seconds(struct uft_printer *t, char *p, uint64_t ts_ns);	/* as if they were ns */
/* Prints @c's open entry as nested; call it before a line of that CPU that is not its exit. */
void graph_close_entry(struct uft_printer *t, struct text_cpu *c);
/* Writes out the decided text. @end: all of it. */
void graph_flush(struct uft_printer *t, int end);

#endif

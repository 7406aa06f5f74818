/* SPDX-License-Identifier: MIT */
/*
 * internal.h - layout of a session; the theory is at the top of session.c. Context: control, the session's thread.
 */
#ifndef UFT_CONTROL_INTERNAL_H
#define UFT_CONTROL_INTERNAL_H

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "control/arm/budget.h"
#include "control/session.h"
#include "symbol/names.h"

#define UFT_NO_SLICE	UINT32_MAX
#define UFT_AUXV_MAX	1024

/* ---- arena.c ------------------------------------------------------------------------------- */

struct arena {
	const struct uft_arena *map;	/* the layout, private; the shared slices lie behind it, as it says */
	struct uft_arena *board;	/* shared; targets read it. The layout is never read from here */
	struct uft_mail *mail;		/* shared; targets write to it */
	size_t bytes;
	size_t target_bytes;	/* what targets map: board, mail and slices; the session's own slices lie behind that in another file */
	int fd;			/* holds the flock that says "this session lives" */
	int board_fd;
	int own_fd;		/* the session's own slices: a file that no target maps; -1 there are none */
	int is_linked;
	int is_kept;		/* the file stays: somebody could not be left, and can be later (detach_request.c) */
	char path[256];
};

int arena_create(struct arena *a, const struct uft_session_opts *opts, struct uft_error *err);
void arena_destroy(struct arena *a);
void arena_unlink(const struct arena *a);	/* both files */
/* Maps the files, a->bytes in all, of layout @l: of a session, or again in its guard. 0 or -errno. */
int arena_map(struct arena *a, const struct uft_arena *l);
/* For each file of a session of this user, living or dead: nobody locks it here. 0 or -errno. */
int arena_each(void (*fn)(struct arena *a, void *arg), void *arg);
struct uft_slice *arena_slice(const struct arena *a, uint32_t index);
struct uft_cmd *arena_cmd(const struct arena *a, uint32_t index);
/* Claims a free slice for @pid, all counters zero; UFT_NO_SLICE if there is none. */
uint32_t arena_claim(struct arena *a, pid_t pid, pid_t ppid);
uint32_t arena_claim_own(struct arena *a, pid_t pid, pid_t ppid);	/* the same of the session's own */
/* For a slice that nobody drains: clears it and makes it free again. */
void arena_release(struct arena *a, uint32_t index);
void arena_empty(const struct arena *a, uint32_t index);	/* gives the memory of its rings back; it stays what it is */

/* ---- spec.c -------------------------------------------------------------------------------- */

struct spec {
	uint32_t tracer;		/* what targets are told: enum uft_tracer up to PROFILE */
	uint32_t events;		/* the tracer whose functions write events as well; NOP none */
	int is_bare;			/* with events: no functions but those */
	int is_inits;			/* only functions that are called when their object is loaded, of every object */
	uint32_t own;			/* the tracer made of the session's own events; NOP none */
	uint64_t own_thresh_ns;
	struct uft_hwlat_opts spin;
	struct access_range *watch;	/* of mmiotrace (watch_list.h) */
	uint32_t nwatch;
	uint64_t sample_ns;
	int has_stacks;			/* of samples */
	int has_switches;		/* of sched_switch, or beside calls */
	uint32_t tasks;			/* enum uft_tasks */
	uint32_t generation;		/* of this spec; 0: none was given yet */
	struct uft_pattern *filter, *notrace, *roots, *hidden, *keep, *stack_of;
	char **filter_text, **notrace_text, **roots_text, **hidden_text, **keep_text, **stack_of_text;
	size_t nfilter, nnotrace, nroots, nhidden, nkeep, nstack_of;
	struct uft_words *filter_words, *notrace_words, *root_words, *hidden_words, *stack_words;	/* the same, to try a function against them */
	uint8_t *keep_index;		/* by keep pattern: of its limit in params.keep[] */
	uint64_t keep_ns[UFT_NKEEP];
	uint64_t thresh_ns;
	uint64_t min_size;		/* bytes: smaller functions are not selected */
	struct budget_limit limit;
	struct uft_tracer_params params;
	uint64_t since[sizeof(((struct uft_tracer_params *)0)->pids) / sizeof(uint32_t)];	/* pid_inherit.c: by params.pids, when it came to be there */
	struct spec *beside;		/* spec_select.c */
};

/* What a site should be: enum uft_site_state, WANT_ROOT, or WANT_NOT (not selected). */
#define WANT_ROOT	0x10
#define WANT_KEEP_SHIFT	5	/* bits 5-7: index of the root's limit, 0 none; of others UFT_SITE_ARGS, _MASK, _HIDE */
#define WANT_FUNC	(UFT_SITE_FUNC >> 2 << WANT_KEEP_SHIFT)
#define WANT_PROFILE	(UFT_SITE_PROFILE >> 2 << WANT_KEEP_SHIFT)
#define WANT_NOT_GRAPH	(WANT_ROOT | UFT_SITE_HIDE >> 2 << WANT_KEEP_SHIFT)	/* UFT_SITE_NOT_GRAPH */
#define WANT_NOT	0xff

int spec_make(const struct uft_trace_spec *in, struct spec **out, struct uft_error *err);
void spec_free(struct spec *sp);
/* spec_select.c: what all of @in->beside want, into @sp, which is made of @in. */
int spec_make_beside(const struct uft_trace_spec *in, struct spec *sp, struct uft_error *err);
int spec_take_own(const struct uft_trace_spec *own, struct spec *sp, struct uft_error *err);	/* the same of the session's own events */
static inline int spec_has_func(const struct spec *sp)	/* are there records with callers? */
{
	return sp->tracer == UFT_TRACER_FUNCTION || sp->params.has_events & UFT_EVENTS_FUNC;
}
/* Fills want[obj->nsite]. Names are read only when there are patterns. Returns sites selected, or -errno. */
long spec_select(const struct spec *sp, struct uft_object *obj, uint8_t *want, struct uft_error *err);
struct space_obj;
/* The same for its plain functions (unprepared.c). @is_program: a pattern need not name the object. */
long spec_select_plain(const struct spec *sp, struct uft_object *obj, const struct space_obj *o, int is_program,
		       uint8_t *want, struct uft_error *err);
/* spec.c: the same of one, without those beside it. */
long spec_select_own(const struct spec *sp, struct uft_object *obj, uint8_t *want, struct uft_error *err);
long spec_select_own_plain(const struct spec *sp, struct uft_object *obj, const struct space_obj *o, int is_program,
			   uint8_t *want, struct uft_error *err);
/* Is a stack recorded behind each call of the function at @func? Its object's names are read. */
int spec_wants_stack(const struct spec *sp, struct uft_object *obj, uint64_t func);
/* Does a filter or root pattern name the object by `:mod:`? */
int spec_names_object(const struct spec *sp, struct uft_object *obj);

struct space;
/* Each pattern must select a site of one of the spaces; else -ENOENT and a sentence with the nearest names. */
int spec_check(const struct spec *sp, struct space *const *spaces, size_t nspaces, struct uft_error *err);
/* Why nothing of the space can be traced, for a message. */
void spec_explain_none(const struct space *sp, char *text, size_t size);

/* ---- image_plan.c: an image and what is planned for it ------------------------------------------- */

struct plain;
#define PLAIN_NO_GRAPH	15		/* reasons are enum entry_skip, and this one */
struct space_obj {
	uint8_t *want;			/* by stub index, from spec generation `planned` */
	uint32_t planned;
	uint32_t nusable;
	uint8_t *sent;			/* by stub index: what any target of the space was last told, or WANT_NOT */
	struct uft_hook *hook;		/* runtime addresses */
	uint32_t nhook;
	int has_hooks;			/* looked for */
	int unwind_error;		/* -errno: an unwinder that it has could not be hooked in some target */
	int is_reported, is_hold_reported; /* hooks that failed were mentioned; those that failed although all stood */
	unsigned own_calls;		/* the space's when its sites were first sent: a site's kind does not change */
	int has_own_calls;
	struct plain *plain;		/* its functions that nobody prepared; NULL: they were never asked for */
	uint32_t nplain;		/* those wanted that can be traced */
	uint32_t plain_skip[PLAIN_NO_GRAPH + 1];	/* those wanted that cannot */
	const struct uft_func *chooser;	/* a function that a pattern selects and that only chooses another, or NULL */
	uint64_t stub_base, code_base, tramp_base, tramp_end;	/* as a target was told last; 0 never */
	struct uft_stack_row *row;	/* unwind_rows.c; malloc'd */
	uint32_t nrow;
	int has_rows;			/* made, maybe none */
};

struct space {
	struct space *next;
	struct uft_image *img;
	struct space_obj *obj;		/* parallel to img->obj */
	uint32_t nobj;
	uint32_t next_text_id, next_stub_id;
	unsigned own_calls;		/* enum uft_call_name: what any object exports; calls by that name are its own */
	uint32_t spec_sent;		/* generation of the spec with which its first target was armed */
	int is_changed;			/* another one came after it: fork children may be of either time */
	uint8_t auxv[UFT_AUXV_MAX];	/* the identity of an address space: fork children have the same */
	size_t auxv_bytes;
	uint64_t rbrk, rdebug;		/* runtime addresses in the interpreter; 0 none */
	uint64_t dynamic;		/* the program's PT_DYNAMIC, for DT_DEBUG */
	uint64_t rseq_symbol;		/* runtime address of __rseq_offset; 0 none */
	uint64_t boot;			/* runtime address of the blob's uft_boot */
	int is_dynamic;			/* has an interpreter */
	int rseq_known;
	uint64_t *ahead[2];		/* room for stub_addr and site_addr of the program, made while its sites were looked for */
	size_t nahead;
	int started;			/* all objects of the start are known: constructors may run */
};

struct auxv {
	uint64_t phdr, phnum, entry, base, vdso, secure, random;
};

/* What a caller of space_create() does as soon as the program's file is open, while its sites are still looked for. */
struct space_ahead {
	void (*program)(void *arg, const struct space *sp, const struct uft_object *program, uint64_t bias);
	void *arg;
};
/* @hello: what the process says of itself (checked by the caller); NULL: the kernel is asked. @ahead may be NULL. */
int space_create(struct uft_session *s, pid_t pid, const struct uft_hello *hello, const struct space_ahead *ahead, struct space **out,
		 struct uft_error *err);
void space_free(struct space *sp);
void space_drop(struct uft_session *s, struct space *sp);	/* nobody came to use it */
int auxv_read(pid_t pid, uint8_t *raw, size_t *bytes, struct auxv *out);
/* Adds one object; returns its index, or -errno. */
int space_add(struct uft_session *s, struct space *sp, struct uft_object *obj, uint64_t bias);
/* Brings want[] of an object up to the session's spec. */
int space_plan(struct uft_session *s, struct space *sp, uint32_t index, struct uft_error *err);
struct target;
/* Compares the loader's list with the target's objects: adds what is new, drops what is gone. 1 something
 * changed, 0 nothing, -errno. */
int space_walk(struct uft_session *s, struct target *t, uint64_t rdebug);

/* ---- hooks.c ------------------------------------------------------------------------------- */

/* Places in an object that the runtime must know of; fills o->hook. */
int hooks_are_known(const struct uft_object *obj);	/* 0: none but the loader's and unwinders on this architecture yet */
int hooks_find(struct space_obj *o, const struct uft_mapped *m);
int hooks_add_loader(struct space_obj *o, const struct uft_mapped *m, uint64_t rbrk);	/* @rbrk: as linked */

/* ---- target.c: a process with the runtime in it --------------------------------------------- */

struct target_obj {
	uint8_t *state;			/* by stub index, what was last sent; WANT_NOT: never touched */
	uint32_t nstate;
	uint64_t code_base;		/* as the runtime says: where code for plain functions goes */
	uint8_t *named;			/* by stub index: perf_map.c wrote it */
	uint32_t nnamed;
	uint8_t is_mapped, is_sent, is_hooked;
	uint8_t has_rows;		/* it knows how to walk stacks through it */
	uint8_t is_fresh;		/* nobody has run in it, nor can until we answer */
	uint8_t is_assumed;		/* fork child: a relative has it; to be confirmed by the loader's list */
};

struct task_name {
	pid_t tid;
	char comm[16];
};

struct target {
	struct target *next;
	uint32_t slice;
	pid_t pid, ppid;
	uint64_t start;			/* when it began, as peek_start() tells it; of what ended at once: when uft did */
	pid_t own_pid;			/* as the process itself knows it: another one in a pid namespace of its own */
	int pidfd, agent_fd;
	uint64_t agentless_ns;		/* when its agent was seen to have ended, and the process was not; 0 else, or warned of */
	struct space *space;
	struct target_obj *obj;
	uint32_t nobj;
	uint32_t spec_sent;
	int is_preloaded;		/* its agent is a thread of it: no ptrace, and nothing is ever unmapped (preload.c) */
	int is_held_back;		/* objects are only made known, not armed yet (attach.c) */
	int is_stuck;			/* the agent does not answer: no more commands */
	uint32_t stuck_seq;		/* the number of the one that it did not answer */
	int is_over;			/* the process ended or replaced its image */
	int is_watched;			/* watchdog.c has all of its tasks */
	uint64_t next_watch_ns;		/* when it is tried again, if not */
	int waits_for_traps;		/* int3.c: functions are to be armed when it has */
	int looked_at_sigtrap;		/* 1: int3s may be written; -1: SIGTRAP is its own */
	int has_faulted;		/* fault.c put everything back */
	int has_agent;
	uint64_t armed;
	struct remote *remote;		/* stopped by ptrace, see exec_inject.c */
	uint32_t waiting;		/* request + 1 by which a thread of it stands in r_brk until it is answered; 0 none */
	struct task_name *task;
	uint32_t ntask, task_alloc;
	int jit_fd;			/* jit_names.c; 0 or less: none */
	uint64_t jit_lines;		/* read from it so far */
	int is_map_begun, is_map_left;	/* perf_map.c */
	struct meter *meter;		/* cost.c; NULL: not looked at so far */
	struct hold *hold;		/* arm_stopped.c: what is gathered for one; NULL: none is open */
	int is_unasked;			/* seccomp_risk.c: said that its policies are not known */
	int is_unsafe_said;		/* seccomp_risk.c: said that stacks may cost its life */
};

/* What upper folders do at the turns of a target's life; the session has a list of them. NULL: nothing. */
struct target_listener {
	void (*announced)(struct uft_session *s, struct target *t);	/* its events may be recorded from now on */
	void (*ends)(struct uft_session *s, struct target *t);		/* it is about to be taken from the list: its slice is there still */
	void (*freed)(struct target *t);
};

struct target *target_create(struct uft_session *s, uint32_t slice, pid_t pid, pid_t ppid, struct space *space);
struct target *target_by_slice(struct uft_session *s, uint32_t slice);
struct target *target_by_pid(struct uft_session *s, pid_t pid);
void target_announce(struct uft_session *s, struct target *t);
void target_open_agent(struct uft_session *s, struct target *t);
void target_take_agent(struct uft_session *s, struct target *t, int pidfd);	/* by its pidfd, ours from now on */
pid_t target_agent_pid(const struct target *t);	/* its number here, whatever its namespace; 0: it has none */
/* The process is gone, or runs another image: waits for its agent, sums up, frees the slice. */
void target_end(struct uft_session *s, struct target *t);
void target_keep(struct uft_session *s, struct target *t);	/* the session ends, and it could not be left: its slice stays as it is */
int target_fd_ready(int fd, int timeout_ms);	/* the process of a pidfd has ended; -1: it has */
int target_is_running(const struct target *t);	/* 0: the process is over */
int target_agent_ended(const struct target *t);
void target_scan_tasks(struct uft_session *s, struct target *t);
int target_grow(struct target *t, uint32_t nobj);

/* int3.c: entries that only an int3 fits. */
struct int3_ops {
	int (*may_arm)(struct uft_session *s, struct target *t);
	/* Before an int3 can be written at @site, whose function has its code at @code and begins with @orig. 0 or -errno. */
	int (*note)(struct uft_session *s, uint64_t site, uint64_t code, uint8_t orig);
};

/* ---- jit_names.c: names of code that a process makes ------------------------------------------- */

void jitmap_look(struct uft_session *s, struct target *t);	/* while it lives: is there a list by now? */
void jitmap_read(struct uft_session *s, struct target *t);	/* tracing ends: its names into the image */

/* ---- perf_map.c: names of our code, for perf --------------------------------------------------- */

void perfmap_write(struct uft_session *s, struct target *t);	/* what is new */

/* ---- pid_inherit.c: the pid lists of processes that listed ones made --------------------------------- */

/* A process, or what it executes, is there; @from: its parent, or the last that is known of those that it is of. */
void kin_note(struct uft_session *s, pid_t pid, pid_t from);
struct spec;
void kin_begin(const struct spec *old, struct spec *sp);	/* @sp is in force from now on, behind @old or NULL */
uint32_t kin_lists(const struct uft_session *s, pid_t pid);	/* enum uft_pid_lists, beside those that name it */

/* ---- channel.c, arm_*.c: what agents are told ------------------------------------------------- */

#define COMMAND_TIMEOUT_MS	10000

void command_post_slice(struct uft_slice *sl);			/* the command stands in its area: start it */
int command_post(struct uft_session *s, struct target *t);	/* the command stands in the area: start it */
int command_wait(struct uft_session *s, struct target *t);	/* its result */
int command_is_stuck(const struct uft_session *s, const struct target *t);	/* did not answer, and does not do it now */
/* unresponsive.c */
void stuck_begin(struct uft_session *s, struct target *t);	/* it did not answer what was just sent */
int stuck_ends(struct uft_session *s, struct target *t);	/* 1: it did by now; to be armed with force */
void stuck_poll(struct uft_session *s);				/* those that did are brought up to the spec */
struct uft_cmd *command_begin(struct uft_session *s, struct target *t, uint32_t op, uint32_t n, uint32_t object);
void *command_payload(struct uft_cmd *c);
int command_run_on(struct uft_session *s, struct target *t, uint32_t op, uint32_t object);
int command_run(struct uft_session *s, struct target *t, uint32_t op);
int command_params(struct uft_session *s, struct target *t);
/* seccomp_risk.c. @why: what was found, NULL if nothing is known. */
int sandbox_is_possible(const struct target *t, const char **why);
int command_hooks(struct uft_session *s, struct target *t, uint32_t object);
int command_gone(struct uft_session *s, struct target *t, uint32_t object);
int command_object(struct uft_session *s, struct target *t, uint32_t object);
/* A start: its agent makes memory for the sites of its first object, while they are still looked for. The next command must wait. */
void command_foretell(struct uft_session *s, uint32_t slice, const struct space *sp, const struct uft_object *obj, uint64_t bias);
/* What a site has to become: what is wanted and its state now tell. WANT_NOT: nothing to do. */
static inline uint8_t command_next_state(uint8_t want, uint8_t now, int force)
{
	if (want == WANT_NOT) {
		if (now == WANT_NOT)
			return WANT_NOT;	/* never touched: its page stays clean */
		want = UFT_IDLE;
	}
	return want == now && !force ? WANT_NOT : want;
}
uint8_t command_stub_flags(uint8_t state);	/* enum uft_site_flags for a state with WANT_ROOT */
/* Sends patches of stubs index[] and records what became of them. @n: no more than the command area holds. */
int command_patch_list(struct uft_session *s, struct target *t, uint32_t object, const struct uft_patch *p,
		       const uint32_t *index, uint32_t n);
/* What a site of the target is now. */
void command_note_state(struct target *t, uint32_t object, uint32_t index, uint8_t state);
/* The same for @n in a row that it was not told of. */
void command_note_states(struct target *t, uint32_t object, uint32_t index, uint32_t n, uint8_t state);
/* arm_bitmap.c: switches at once what a bit can tell; the rest has to be listed. 0; -ESRCH, -ETIMEDOUT. */
int command_sweep(struct uft_session *s, struct target *t, uint32_t object);
/* arm_stopped.c: what became of those that had to wait. Only statuses are taken from what an agent answered. */
void command_note_patched(struct target *t, uint32_t object, const struct uft_patch *told, const uint32_t *index, uint32_t n,
			  const struct uft_patch *answer);
void command_note_hooked(struct uft_session *s, struct target *t, uint32_t object, const struct uft_hook *h, uint32_t n);
/* arm_first.c: the first arming of what is alike, at an exec; the rest has to be listed. 0, or -errno as of command_object(). */
int command_arm(struct uft_session *s, struct target *t, uint32_t object);
size_t command_arm_bytes(size_t nsite);		/* of the command area */
uint32_t command_patch_flags(const struct uft_session *s, const struct target *t, uint32_t object);	/* enum uft_cmd_flags of a list now */
/* Brings every site of the object to what is wanted. @force: also those believed to be so already. */
int command_patch(struct uft_session *s, struct target *t, uint32_t object, int force);
int target_arm(struct uft_session *s, struct target *t, int force);	/* params, hooks and sites of all objects */

/* ---- unwind_rows.c ---------------------------------------------------------------------------------- */

/* Rows of @u's functions, by address (abi.h); *out malloc'd. 0 or -ENOMEM. */
int stacks_make_rows(const struct uft_unwind *u, size_t nunwind, struct uft_stack_row **out, uint32_t *n);
/* Of an object, once; it may have none. 0, or -errno the first time. */
int stacks_make(struct space *sp, uint32_t object);
/* Whose calls have a stack behind them: ids in this target. */
void stacks_put_ids(struct uft_session *s, struct target *t, struct uft_tracer_params *p);
/* The target gets an object's rows if stacks are wanted and it does not have them yet. 0, -ESRCH, -ETIMEDOUT: others are
 * said by a warning; then stacks end there. */
int stacks_send(struct uft_session *s, struct target *t, uint32_t object);

/* ---- exec_inject.c, blob.c ------------------------------------------------------------------------ */

struct blob {
	uint8_t *image;			/* span bytes, as loaded at 0 */
	uint64_t span, start, attach, rejoin, boot;
	uint64_t build;			/* tells it from another's image */
	struct { uint64_t addr, end; int prot; } seg[6];
	unsigned nseg;
	const void *rela; size_t nrela;
};
int blob_get(const struct blob **out);

/*
 * @tid stands in its PTRACE_EVENT_EXEC stop. Puts the runtime into the new image, makes the process a target with
 * slice and agent, and arms it. It stays stopped, target->remote is set. On an error the image is as it
 * was and still stopped.
 */
int inject_exec(struct uft_session *s, pid_t tid, pid_t ppid, struct target **out, struct uft_error *err);
/* Registers and signal mask back, then off it goes: detached, or watched until libc has set up rseq (exec_trace.c). */
int inject_release(struct uft_session *s, struct target *t);
/* rseq_area.c: tells the runtime where libc's rseq area is, read from the process; it knows with the next command. 1: new. */
int inject_note_rseq(struct target *t);
int inject_rseq(struct uft_session *s, struct target *t);	/* at once */

/* ---- attach.c ---------------------------------------------------------------------------------- */

struct guard_notes;
/* The session was killed while it attached. 0: the agent has come up; else the process is as it was, or over. */
int attach_finish(const struct guard_notes *n);

/* ---- launch.c, exec_rights.c ----------------------------------------------------------------------- */

/* Does exec of @path change credentials? @who: the task that will do it. 0, or the reason's text. */
const char *secure_exec_reason(const char *path, uid_t euid, gid_t egid);
/* Where execvp() would find @name; 0, or -errno and the sentence. */
int launch_find_program(const char *name, char *path, size_t size, struct uft_error *err);
/* What stands in an executable file is something we can trace: 0, or -errno and the sentence. */
int program_check(const char *path, struct uft_error *err);
/* And its start gains no rights. */
int program_check_rights(const char *path, struct uft_error *err);
/* "#! /bin/sh -e" into "/bin/sh"; where that is a script as well, what it comes down to. 0: @path is no script. */
int script_interpreter(const char *path, char *interp, size_t size);
/* Does anything match, now that all objects of the start are known? */
int launch_check_start(struct uft_session *s, struct target *t, struct uft_error *err);

void launch_adopt(struct uft_session *s, pid_t pid);		/* it is the session's program from now on */
void launch_end_child(struct uft_session *s, pid_t pid);
int launch_begin(struct uft_session *s, char *const argv[], struct uft_error *err);	/* fork and exec: nothing runs behind that */
void launch_forget(struct uft_session *s);	/* what was begun and not launched */

/* ---- preload.c -------------------------------------------------------------------------------- */

int preload_launch(struct uft_session *s, char *const argv[], pid_t *out, struct uft_error *err);
void preload_leave(struct uft_session *s, struct target *t);
void preload_note_makers(struct uft_session *s, struct target *t);
void preload_take_agent(struct uft_session *s, struct target *t);
int preload_hello(struct uft_session *s, uint32_t index, const struct uft_request *r);

/* ---- exec_trace.c: tasks that are traced by ptrace for a moment ------------------------------------ */

enum ptask_kind {
	PTASK_EXEC,			/* seized before its exec */
	PTASK_RSEQ,			/* stops at its system calls until libc has written __rseq_offset */
};
struct ptask {
	struct ptask *next;
	enum ptask_kind kind;
	pid_t tid, tgid;
	pid_t from;			/* EXEC: the process itself, or the last target that it was forked from */
	uint32_t slice;			/* RSEQ: of the target */
	uint32_t ncalls;		/* RSEQ: stops so far */
};
int ptask_seize(struct uft_session *s, pid_t tid, pid_t tgid, pid_t from);
void ptask_watch_rseq(struct uft_session *s, pid_t tid, uint32_t slice);
void ptask_release(struct uft_session *s, pid_t tid);	/* exec failed: let go */
int ptask_poll(struct uft_session *s);			/* handles stops; number of tasks left */
void ptask_release_all(struct uft_session *s);
void ptask_release_process(struct uft_session *s, pid_t tgid);

/* ---- requests.c ------------------------------------------------------------------------------- */

void request_serve(struct uft_session *s);
void request_adopt_strays(struct uft_session *s);	/* live slices that nobody announced */

/* ---- session.c ------------------------------------------------------------------------------- */

struct uft_session {
	struct uft_session_opts opts;
	struct uft_session_events ev;
	struct arena arena;
	struct spec *spec;
	uint32_t generation;
	int is_paused;			/* uft_session_record() */
	uint32_t ring_flags, on_cpus;	/* of every slice */
	struct space *spaces;
	struct target *targets;
	const struct target_listener *listener;	/* nlistener of them, asked in their order */
	uint32_t nlistener;
	const struct tracee_keeper *keeper;	/* of tasks that are our tracees all the time; NULL: there are none */
	const struct int3_ops *int3;		/* NULL: no int3 is written */
	struct ptask *ptasks;
	struct watch *watch;			/* NULL: no watchdog */
	struct traps *traps;			/* int3.c; NULL: there were none */
	struct executing { pid_t tid; uint64_t until_ns; } executing[16];	/* setuid_exec.c: who was let go for that */
	struct own *own;			/* sources.c: slices of ours */
	struct uft_image *own_img;		/* of those that are no target's; NULL: there was none yet */
	struct spin *spin;
	struct observe *observe;
	int is_unobserved;			/* it could not begin, which was said */
	uint32_t next_image;
	struct {			/* by slice: who had it last, for children that outlive their parents */
		struct space *space;
		pid_t pid;
	} *last;
	struct kin { pid_t pid; uint32_t lists; uint64_t start; } *kin;	/* pid_inherit.c: of processes that are on lists because their parents are */
	size_t nkin, cap_kin;
	uint32_t kin_number;
	sigset_t launch_mask;

	pid_t guard_between;		/* guard.c: our child, to be waited for; 0 none */
	int guard_fd, guard_sock;	/* pidfd of the guard, our end of its socket (guard.c); -1 none */
	int epoll_fd, bell_fd;
	pthread_t bell_thread;
	atomic_int bell_stop;
	int has_bell_thread;

	uint32_t held;			/* slice of the program that waits for the end of uft_session_launch() */
	int held_result;
	struct uft_error held_error;
	struct {
		pid_t pid;		/* 0: none is on its way to its exec stop */
		int report;
		char *const *argv;
		char path[PATH_MAX];
	} coming;			/* launch.c */
	pid_t launched;			/* 0 none */
	int launched_fd;
	int launched_status;		/* -1 while it runs */
	int is_told;			/* who wants to know that it was released */
	int is_launched_left;		/* it was detached and goes on */

	int has_hello;			/* the preloaded program is armed */
	uint64_t guest_clock0, guest_ns0, guest_hz;	/* of an emulated clock; hz is set last, once */
	uint64_t clock0, mono0;		/* pair for the conversion of thresh_ns */
	uint32_t command_ms;		/* an agent has to answer in; COMMAND_TIMEOUT_MS but in a test */
	uint64_t next_scan_ns, next_budget_ns;
	int has_silent;				/* as of next_silent_ns - SILENT_MS */
	uint64_t next_silent_ns;
	uint64_t done_ns[UFT_NREQUESTS + UFT_NASKS];	/* when an answer was given that nobody has taken yet */
	uint64_t counters[UFT_NCOUNTERS];	/* of slices that ended */
	uint32_t targets_total, not_followed, attached;
	uint64_t stop_ns_max;			/* of attaches: the longest stop */
	uint64_t stop_ns, stop_ns_sum;		/* all stops of the one under way; the largest of these */
	char *warned[64];
	uint32_t nwarned;
};

/* A target is left as it was found, on somebody's request. 0, -ESRCH, -EBUSY it starts, -EAGAIN something remains. */
int session_detach(struct uft_session *s, pid_t pid);
/* For whoever has just claimed it: an agent that left switched its slice off. */
void session_set_slice(struct uft_session *s, uint32_t index);
uint64_t session_now_ns(void);
/* One round of uft_session_poll(). */
void session_step(struct uft_session *s, int timeout_ms);
void session_warn(struct uft_session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
uint64_t session_clock_units(struct uft_session *s, uint64_t ns);
uint64_t session_clock(struct uft_session *s);	/* that of the programs, now */
void session_set_times(struct uft_session *s, struct spec *sp);	/* what a tracer wants in units of the clock */
int session_follows_children(const struct uft_session *s);

/* ---- rlimits.c --------------------------------------------------------------------------------- */

/*
 * Why process @pid, 0: ourselves, could not be given something (@ret), with what to do about it, if a limit of its is the reason: -ENOMEM of
 * @bytes of address space, -EMFILE, or -EUSERS: no other task. 0: it is not.
 */
int limits_explain(pid_t pid, int ret, uint64_t bytes, char *why, size_t size);
/*
 * The part for no other task, of which the kernel does not tell whose limit it was. @limit: of the process's user, UINT64_MAX none.
 * Returns what prlimit(1) calls that; NULL: it is none of the process's own.
 */
const char *limits_explain_tasks(pid_t pid, uint64_t limit, char *why, size_t size);

/* ---- procfs.c: reading what cannot be trusted --------------------------------------------------- */

int peek_mem(pid_t pid, uint64_t addr, void *buf, size_t len);		/* 0 or -EFAULT: all or nothing */
long peek_string(pid_t pid, uint64_t addr, char *buf, size_t size);	/* length, or -errno */
int peek_file(pid_t pid, const char *name, char *buf, size_t size);	/* /proc/PID/name; bytes or -errno */
long peek_status(pid_t pid, const char *field, int base);	/* a number of /proc/PID/status, -errno if none */
/* The number of a task as it knows it, in its own pid namespace; @tid if nothing else is known. */
pid_t peek_own_pid(pid_t tid);
/* The task of process @pid that calls itself @own; 0 none. */
pid_t peek_task(pid_t pid, pid_t own);
/* The process that calls itself @own in the pid namespace of @pid; 0 none. */
pid_t peek_neighbour(pid_t pid, pid_t own);
/* task_list.c: is @agent the agent's task of process @pid? Its number may be a stranger's in another pid namespace. */
int task_is_agent_of(pid_t pid, pid_t agent);
pid_t leave_find_agent(pid_t pid);		/* the living agent of @pid, by the memory that they share; 0 none */
/* The process that calls itself @own, is no target yet, and to whose runtime slice @slice belongs; 0 none. */
pid_t peek_process(struct uft_session *s, uint32_t slice, pid_t own);
/* Exiting, a zombie, or gone: /proc/PID/maps and auxv are empty at any moment of it. */
int peek_is_undumpable(pid_t pid);		/* its memory is root's to look at; of a process that is root's: 0 */
int peek_is_ending(pid_t pid);
int peek_is_ours(pid_t tid);			/* is it a tracee of this thread's? */
/* The same, and the name of its program. */
uint64_t peek_start_name(pid_t pid, char *comm, size_t size);
uint64_t peek_start(pid_t pid);			/* when it was forked: ticks of a 100th after boot; 0 unknown */
int peek_has_arena(const struct uft_session *s, pid_t pid);	/* is our arena mapped there? */
int peek_maps(const struct arena *a, pid_t pid);		/* the same of any */
int peek_anybody_maps(const struct arena *a);		/* but us */
/* Is there a process that has it and is not known: a fork child that has made no traced call yet? Looks at all
 * processes that are younger than this one. */
int peek_any_silent(const struct arena *a);

static inline long futex(uint32_t *word, int op, uint32_t val, const struct timespec *timeout)
{
	extern long syscall(long nr, ...);

	return syscall(202 /* SYS_futex */, word, op, val, timeout, NULL, 0);
}

#endif

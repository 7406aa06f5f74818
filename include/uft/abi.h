/* SPDX-License-Identifier: MIT */
/*
 * abi.h - the contract between the runtime inside a target and the session outside it
 *
 * This header is the specification of everything that both sides see: records (records.h), rings (rings.h), the arena
 * that holds them, the requests of targets and the commands of a session. Both sides include only this header with
 * these two, and runtime/arch/NAME/encode.h. It needs nothing but <stddef.h> and <stdint.h>.
 *
 * Objects
 *   arena     what a session and its targets share: sparse files in its run directory.
 *   board     the first file: the layout, and what the session tells all targets. Targets map it read-only, by a
 *             read-only descriptor: they can neither write to it nor make it writable.
 *   family    a file for each process, which no other process maps: mail and `per_file` slices (1). A fork
 *             child inherits a spare family instead of its parent's, and claims the slice at its first
 *             event by one atomic operation. Where forks are not hooked (arm64, riscv64), children use their
 *             parent's family, and claim one of its slices.
 *   mail      the beginning of a family's file: requests of its processes. Slices of equal size follow.
 *   slice     the part of one target process: counters, a command area, rings, a profile. Slice i is in family
 *             i / per_file; the session hands the numbers out. `nown` more slices follow, in the session's own
 *             memory, for events that the session itself records.
 *   ring      a control page and a power-of-two data area, divided into sub-buffers. While the session keeps
 *             up, only the first ring_usual bytes of the area are used. Ring i < ncpus
 *             is CPU i's, written under rseq; the other nexch rings are exchange rings for
 *             tasks without a usable rseq area (take a free one by atomic exchange of `owner`).
 *   record    8-byte words; a record never straddles a sub-buffer.
 *
 * Ownership: `w:` fields are written by the target only, `s:` by the session only, `a:` by both
 * with atomics. The session treats every `w:` field as hostile: copy, check, then use.
 *
 * All integers are little endian. Growth happens at the end of structures; UFT_ABI_VERSION changes
 * when a reader of the old layout would misread the new one.
 */
#ifndef UFT_ABI_H
#define UFT_ABI_H

#include <stddef.h>
#include <stdint.h>

#include "uft/records.h"
#include "uft/rings.h"

#define UFT_ABI_MAGIC	0x31414e4552544655ull	/* "UFTRENA1" */
#define UFT_ABI_VERSION	11u
#define UFT_ABI_RECORDS	3u	/* first version with today's records, sub-buffers and rings */

/* ---- Arena -------------------------------------------------------------------------------- */

enum uft_request_kind {
	UFT_REQ_EXEC	= 1,	/* args: 0 = address of the path string (0: by descriptor), 1 = system call
				 * number, 2 = directory descriptor, 3 = flags; waits: the session seizes
				 * the task so that the new image gets the runtime. result: 0, -errno, or
				 * UFT_EXEC_PRELOAD */
	UFT_REQ_EXEC_FAILED = 2, /* the exec returned an error; the session detaches the task */
	UFT_REQ_FORKED	= 3,	/* args: 0 = slice index; no wait */
	/*
	 * on the board only, from another command of the same user, not from a target: detach a process. args:
	 * 0 = its pid; waits
	 */
	UFT_REQ_DETACH	= 5,
	UFT_REQ_OBJECTS	= 4,	/* r_brk was called; the list may still be changing (the session reads r_state).
				 * args: none; waits until the new objects' sites are armed */
	/*
	 * a preloaded runtime has started; struct uft_hello is in the command area. args: 0 = clock, 1 =
	 * CLOCK_MONOTONIC in ns at the same time, 2 = clock units a second, 0 unknown, 3 = address of
	 * uft_boot; waits until everything is armed
	 */
	UFT_REQ_HELLO	= 6,
	/*
	 * the caller is about to restrict its system calls or clock. args: 0 = enum uft_sandbox, 1 = with
	 * FILTER the address of its struct sock_fprog; waits. result: with FILTER enum uft_denied, or -errno:
	 * the process cannot be traced behind this filter
	 */
	UFT_REQ_SANDBOX	= 7,
};

enum uft_sandbox {
	UFT_SANDBOX_FILTER,	/* a seccomp filter comes: which of the runtime's calls would it refuse? */
	/* The runtime has left: it makes no system call any more, and does not read the clock, */
	UFT_SANDBOX_OUT_FILTER,	/* because of such a filter; */
	UFT_SANDBOX_OUT_STRICT,	/* because of SECCOMP_MODE_STRICT; */
	UFT_SANDBOX_OUT_CLOCK,	/* because of PR_SET_TSC */
	/* The runtime begins no refused call any more. -EAGAIN: another thread may still be inside one. */
	UFT_SANDBOX_QUIET,
	UFT_SANDBOX_OUT_DISPATCH,	/* as UFT_SANDBOX_OUT_CLOCK, because of PR_SET_SYSCALL_USER_DISPATCH */
};

/* System calls that the runtime avoids in the program's threads, because a seccomp filter would kill the caller. */
enum uft_denied {
	UFT_DENIED_STACK	= 1,	/* sigaltstack */
	UFT_DENIED_PEEK		= 2,	/* process_vm_readv, process_vm_writev */
	UFT_DENIED_GONE		= 4,	/* tkill, kill */
	UFT_DENIED_MEMORY	= 8,	/* mmap, munmap, mprotect, madvise */
	UFT_DENIED_ASK		= 0x10,	/* getpid, gettid, nanosleep: requests to the session */
	UFT_DENIED_CPU		= 0x20,	/* getcpu */
	/* calls of an agent in a fork child, and of the runtime in an executed program */
	UFT_DENIED_CHILDREN	= 0x40,
	UFT_DENIED_LIMIT	= 0x80,	/* prlimit64: RLIMIT_AS is kept above the runtime's own mappings */
};

/* Another tracer has the task: the new image loads the runtime by the board's `preload` and `start`. */
#define UFT_EXEC_PRELOAD	1

enum uft_request_state { UFT_REQ_FREE, UFT_REQ_CLAIMED, UFT_REQ_POSTED, UFT_REQ_DONE };

/*
 * A target thread swaps state FREE -> CLAIMED, fills the request, sets POSTED (release), and repeats FUTEX_WAKE on
 * board.bell until that has woken a waiter. If the request waits, the thread then does FUTEX_WAIT on state, for
 * UFT_REQ_TIMEOUT_MS (OBJECTS_MS) in all, and frees the slot after DONE or a time-out (counted). The session frees
 * the slots of requests that do not wait.
 */
#define UFT_REQ_TIMEOUT_MS	2000
#define UFT_REQ_OBJECTS_MS	10000	/* of UFT_REQ_OBJECTS and HELLO: large objects take time to decode */
#define UFT_NREQUESTS		64
struct uft_request {
	uint32_t state;		/* a: enum uft_request_state, a futex */
	uint32_t kind;
	uint32_t pid, tid;
	uint32_t slice, no_wait;
	int32_t result;		/* s: 0 or -errno */
	uint32_t pad;
	uint64_t arg[4];
};
_Static_assert(sizeof(struct uft_request) == 64, "abi");

enum uft_children {
	UFT_CHILDREN_FOLLOW = 1,	/* fork children and exec are followed */
	/* the session traces the tasks by ptrace: each exec is a request to it, and each failed one is reported */
	UFT_CHILDREN_ASK = 2,
};

#define UFT_BOARD_BYTES		65536u	/* a multiple of every page size */
#define UFT_NASKS		4
#define UFT_NSPARES		16
/* of targets: the board's second page on is uint32_t on_cpus[] */
#define UFT_SLICES_MAX		((UFT_BOARD_BYTES - UFT_PAGE) / 4)
struct uft_arena {		/* the board */
	uint64_t magic;
	uint32_t version;
	uint32_t ncpus;		/* possible CPUs: rings 0..ncpus-1 */
	uint32_t nexch;		/* exchange rings that follow */
	uint32_t ring_bytes;	/* data bytes of a ring, a power of two */
	uint32_t sub_bytes;	/* bytes of a sub-buffer, a power of two, ring_bytes / sub_bytes >= 4 */
	uint32_t nslices;	/* of all families */
	/* offset of a family's first slice, behind the mail, if the file began UFT_BOARD_BYTES behind the board */
	uint64_t slice_offset;
	uint64_t slice_bytes;
	uint64_t cmd_offset, cmd_bytes;		/* command area, relative to a slice */
	uint64_t ring_offset, ring_stride;	/* rings, relative to a slice */
	uint64_t profile_offset;		/* profile: UFT_PROFILE_BLOCKS(ncpus) blocks of profile_ids entries */
	uint64_t profile_ids;
	uint32_t session_pid;	/* s: when it dies, agents restore the original code */
	uint32_t children;	/* s: enum uft_children */
	uint32_t closed;	/* s: 1: the session is gone on purpose */
	uint32_t guard_pid;	/* s: the guard, which detaches all targets when the session dies; 0: none */
	uint32_t nown;		/* the session's own slices, behind the targets' */
	/* s: inode of the session's pid namespace, to which its pids belong; 0: unknown */
	uint64_t pid_ns;
	uint64_t build;		/* s: identifies the build of the runtime that targets run */
	uint32_t heir_pid;	/* s: a process that detaches the targets of a dead session; 0: none */
	uint32_t is_tried;	/* s: 1: an heir could not detach all targets; tried again only on request */
	char exe[256];		/* s: the session's program, which can detach targets of its build; "": unknown */
	/* a: requests of commands of the same user, which can open the file; used as those of the mail */
	struct uft_request ask[UFT_NASKS];
	/* s: a futex. Targets cannot write here, but wake its waiters; the session counts the wakes it noticed */
	uint32_t bell;
	uint32_t per_file;	/* slices of a family */
	uint32_t is_full;	/* s: 1: the session follows no more processes: a fork child claims no slice */
	uint32_t nprocesses;	/* how many processes are followed at once, at most */
	uint64_t cookie;	/* of the session; the same in each of its families */
	/* bytes of a ring that are used while the session keeps up: whole sub-buffers, at most ring_bytes */
	uint32_t ring_usual;
	uint32_t pad;
	/* s: 1 + number of a family without a process: the state of its first slice is FREE; 0: none */
	uint32_t spare[UFT_NSPARES];
	char path[256];		/* s: of the session's files, in its own mount namespace */
	/* s: LD_PRELOAD=..., UFT_ARENA=...: added to an exec of a task that was preloaded, or has another tracer */
	char preload[1024], start[512];
	/* maps of histograms, relative to a slice; each rule has the offset of its own */
	uint64_t hist_offset, hist_bytes;
};
_Static_assert(sizeof(struct uft_arena) <= UFT_PAGE, "abi");

/*
 * s: for each slice: the board's ncpus << UFT_ON_CPUS_SHIFT while recording is on (UFT_RING_ON), else 0. So a fast path
 * (x86_64) checks both by one comparison. It reads this word first, even in a fork child that has no family yet. The
 * shift makes it an offset in the fast path's table of CPUs, which saves an instruction.
 */
#define UFT_ON_CPUS_SHIFT	6

static inline uint32_t *uft_on_cpus(const struct uft_arena *board, uint32_t slice)
{
	return (uint32_t *)((uintptr_t)board + UFT_PAGE) + slice;
}

struct uft_mail {
	uint32_t closed;	/* s: 1: the session reads no requests here any more; no slice may be claimed */
	/* w: -errno: why a preloaded runtime that maps this file could not start; 0: none has failed */
	int32_t start_error;
	uint32_t page_bytes;	/* w: the kernel's page size, if that is the reason: it must be UFT_PAGE */
	/* w: slices from this one on were never claimed (the first slice is not counted) */
	uint32_t claimed;
	uint64_t cookie;	/* s: the board's */
	/* w: 1 after a request was posted; the session sets it to 0 and then reads the requests */
	uint32_t posted;
	uint32_t pad2[9];
	struct uft_request req[UFT_NREQUESTS];
};
_Static_assert(sizeof(struct uft_mail) == 64 + 64 * UFT_NREQUESTS, "abi");

enum uft_slice_state {
	UFT_SLICE_FREE,
	UFT_SLICE_LIVE,
	UFT_SLICE_DEAD,		/* s: drained, may be freed */
	UFT_SLICE_HELD,		/* w: mapped by a process for its next fork child, which swaps this to LIVE */
	UFT_SLICE_SPENT,	/* s: drained, but its memory cannot be cleared: never used again */
};

/* One counter per way in which a record or a follow can fail; nothing is silent. */
enum uft_counter {
	UFT_CNT_NO_RING,	/* records dropped: no free exchange ring */
	UFT_CNT_SHADOW_FULL,	/* graph calls not hooked: shadow stack or set-aside table full */
	UFT_CNT_NO_THREAD,	/* records dropped: no thread state could be made */
	UFT_CNT_RECURSION,	/* records dropped by the recursion guard */
	UFT_CNT_NO_SLICE,	/* fork children not followed: no free slice */
	UFT_CNT_REQ_TIMEOUT,	/* requests that the session did not answer in time */
	UFT_CNT_SITE_REFUSED,	/* sites whose bytes were not what was expected */
	UFT_CNT_LOST_RETURN,	/* exits whose entry was not found (must stay 0) */
	UFT_CNT_SHARED_TP,	/* calls passed through: two tasks share one thread pointer */
	UFT_CNT_PATCHED,	/* sites patched, in all (information) */
	UFT_CNT_SITE_LIVE,	/* sites not changed, because that is not safe while threads run */
	UFT_CNT_NOT_KEPT,	/* root calls that were shorter than their limit (information) */
	UFT_CNT_KEEP_NO_RING,	/* words of calls to be kept that were dropped: no exchange ring for their time */
	UFT_CNT_SITE_REACH,	/* sites too far from the memory that an armed one leads to */
	/* graph calls not hooked: mcount's argument is not where the prologue should have put it */
	UFT_CNT_NO_SLOT,
	UFT_CNT_SITE_TAKEN,	/* sites whose jump could only lead to memory that is in use, or will be */
	/* part of the lost records: ends, arguments, results of calls that are counted themselves */
	UFT_CNT_LOST_PART,
	UFT_CNT_EVENT_SIZE,	/* records of tracepoints that were too large, dropped */
	UFT_CNT_NO_MEMORY,	/* part of the lost records: the file system of the rings had no memory for them */
	UFT_NCOUNTERS
};

/*
 * The deepest stack of a slice's threads (UFT_STACKS_MAX). @seq is odd during a write; a reader's copy is valid if
 * @seq was even and did not change. frame[0] is the function that was entered, with its id instead of an address.
 */
struct uft_stack_max {
	uint32_t seq;		/* a */
	uint32_t n;		/* w: of frame[] */
	uint64_t depth;		/* a: bytes; the session sets it to search anew for deeper stacks */
	struct {
		uint64_t addr;	/* the return address; of frame[0] the id */
		uint64_t depth;	/* of the stack at the end of this function's frame */
	} frame[1 + UFT_STACK_MAX];	/* w */
};

enum uft_slice_flags {
	UFT_SLICE_OTHER_NS	= 1,	/* pid and agent_tid are numbers of another pid namespace than the session's */
};

#define UFT_USED_WORDS	16
#define UFT_USED_MAX	(64u * UFT_USED_WORDS)

/* Order of a command's life: the session fills it, bumps cmd_seq (futex); the agent does it, writes
 * results, sets cmd_done = cmd_seq (futex). One command at a time. */
struct uft_slice {
	uint32_t state;		/* a: enum uft_slice_state; claimed by CAS FREE -> LIVE, or HELD */
	uint32_t pid;		/* w: in the process's own pid namespace */
	uint32_t ppid;		/* w: the process it was forked from, 0 launched */
	uint32_t parent_slice;	/* w: the slice whose patches and id ranges it inherited; ~0: none */
	uint32_t agent_tid;	/* w: 0: no agent */
	uint32_t flags;		/* w: enum uft_slice_flags */
	/* s: enum uft_ring_flags, for every ring of the slice; w: UFT_RING_ON off when it leaves */
	uint32_t ring_flags;
	uint32_t cmd_seq;	/* s: futex */
	uint32_t cmd_done;	/* w: futex */
	int32_t cmd_result;	/* w: 0 or -errno */
	uint64_t clock_start;	/* w: clock when the slice was claimed */
	uint64_t debug;		/* w: address of the process's struct uft_debug */
	/* w: with on_cpus one word: the key of fast paths without rseq (runtime/ring/thread_rings.c) */
	uint32_t generation;
	uint32_t on_cpus;	/* s, w: the board's word for this slice (uft_on_cpus()), for the same key */
	/*
	 * s: offset from the thread pointer at which libc keeps the thread's tid; 0: unknown or not reliable. For
	 * the same fast paths; written before thunks are made, because those of riscv64 contain it
	 */
	int32_t tid_offset;
	uint32_t no_sharers;	/* s: 1: no task shares the thread pointer, and so the tid, of its maker */
	/* w: 1 + the agent's descriptor of a socket through which it asks for spare families; 0: none */
	uint32_t spare_fd;
	uint32_t pad;
	uint64_t counter[UFT_NCOUNTERS];	/* w: atomics */
	struct uft_stack_max stack;
	/* w: bit i % 64 of word i / 64: ring i has records; below UFT_USED_MAX the session reads only these rings */
	uint64_t used[UFT_USED_WORDS];
};
static inline int uft_ring_is_used(const struct uft_slice *s, uint32_t ring)
{
	return ring >= UFT_USED_MAX || (__atomic_load_n(&s->used[ring / 64], __ATOMIC_ACQUIRE) >> ring % 64 & 1);
}
static inline void uft_ring_set_used(struct uft_slice *s, uint32_t ring)
{
	if (ring < UFT_USED_MAX)
		__atomic_fetch_or(&s->used[ring / 64], 1ull << ring % 64, __ATOMIC_RELEASE);
}
_Static_assert(offsetof(struct uft_slice, debug) == 48, "tools/gdb/uft.py");
_Static_assert(offsetof(struct uft_slice, generation) % 8 == 0, "read with on_cpus by one load");

/*
 * Tells debuggers (tools/gdb) the true return addresses, where they see our code and ours on stacks. Constant.
 */
struct uft_debug {
	uint32_t version;	/* UFT_ABI_VERSION */
	uint32_t entry_bytes;	/* of a shadow entry, and its fields' offsets */
	uint32_t entry_slot, entry_parent, entry_ret;
	/* offsets in a thread: first entry, next free one, next thread */
	uint32_t thread_base, thread_top, thread_next;
	uint64_t threads;	/* address of the pointer to the first thread */
	uint64_t aside;		/* the set-aside table: entries in no order */
	uint64_t naside;
	uint64_t tables;	/* of the runtime's own functions: .eh_frame_hdr */
	/* Generated code. Layouts: patch/bytes/{stubs,unprepared}.c; frames.c tells the meaning of each pc. */
	uint64_t objects;	/* address of the pointer to the first object */
	/* offsets: next object; where stubs, aux slots, and what follows begin */
	uint32_t object_next, object_stubs, object_aux, object_cells;
	uint32_t object_thunks, nthunks, exit_thunk, object_region;
};

/* ---- Tracer parameters -------------------------------------------------------------------- */

enum uft_tracer {
	UFT_TRACER_NOP, UFT_TRACER_FUNCTION, UFT_TRACER_GRAPH, UFT_TRACER_PROFILE,
	/* Known to the session and to readers only: a target gets GRAPH with has_events. symbol/tracer.h */
	UFT_TRACER_PREEMPTOFF, UFT_TRACER_IRQSOFF, UFT_TRACER_PREEMPTIRQSOFF, UFT_TRACER_WAKEUP, UFT_TRACER_WAKEUP_RT,
	UFT_TRACER_KMEMTRACE, UFT_TRACER_BLK,
	UFT_TRACER_INITCALL,	/* the same without events */
	/* Made of events that the session itself records: a target gets NOP. */
	UFT_TRACER_HWLAT, UFT_TRACER_SYSPROF, UFT_TRACER_SCHED_SWITCH, UFT_TRACER_OSNOISE, UFT_TRACER_MMIOTRACE,
	UFT_NTRACERS
};

#define UFT_NACTIONS	256
#define UFT_NSTACK_IDS	256
enum uft_pid_lists {
	UFT_PIDS_ONLY	= 1,	/* record only tasks in the first list */
	UFT_PIDS_NOT	= 2,	/* and none in the second */
	UFT_PIDS_FORK	= 4,	/* children of processes on a list are on that list, too: kin */
	UFT_PIDS_CALLS	= 8,	/* the lists are for calls only: tracepoints are recorded in every task */
};
enum uft_events {
	UFT_EVENTS_SOME		= 1,	/* some sites write events */
	UFT_EVENTS_SOME_PARENT	= 0x800,	/* with the address that the call returns to */
	UFT_EVENTS_POLICY	= 2,	/* with policy and priority; only if no seccomp filter refuses these calls */
	/* Of every call: */
	UFT_EVENTS_ARGS		= 4,
	UFT_EVENTS_RESULT	= 8,
	UFT_EVENTS_PARENT	= 0x10,
	/* durations, thresh and the profile exclude time off the CPU; the same condition as POLICY */
	UFT_EVENTS_CPU		= 0x20,
	UFT_EVENTS_HANDLERS	= 0x40,	/* mark calls of signal handlers */
	UFT_EVENTS_NO_HANDLERS	= 0x80,	/* record neither signal handlers nor their callees */
	UFT_EVENTS_SELF		= 0x100,	/* profile: durations exclude traced callees */
	/* beside graph or profile: also FUNC records, at FUNCTION sites and those with UFT_ACT_FUNC */
	UFT_EVENTS_FUNC		= 0x200,
	/* beside the graph: the profile counts at sites with UFT_ACT_PROFILE */
	UFT_EVENTS_PROFILE	= 0x400,
};

/*
 * How the tracer treats the calls of a site: the site's byte is an index in action[], which the session hands out.
 * Index 0, and an index that is not in the table, have none of these.
 */
enum uft_action_ops {
	UFT_ACT_ROOT	= 1,	/* graph: starts recording with UFT_ROOTS_ONLY */
	UFT_ACT_HIDE	= 2,	/* with UFT_ROOTS_NOT: neither the call nor its callees are recorded */
	UFT_ACT_ARGS	= 4,	/* with UFT_EVENTS_SOME: events of arguments and results; */
	UFT_ACT_MASK	= 8,	/* the same, with the blocked signals */
	UFT_ACT_FUNC	= 0x10,	/* with UFT_EVENTS_FUNC: a FUNC of each call, whether the graph records it or not */
	UFT_ACT_PROFILE	= 0x20,	/* with UFT_EVENTS_PROFILE: the profile counts it, recorded by the graph or not */
	UFT_ACT_NOT_GRAPH = 0x40,	/* with PROFILE: the graph ignores the call, but not its callees */
	UFT_ACT_KEEP	= 0x80,	/* graph, with ROOT: kept only if it takes `limit` or longer */
};
struct uft_action {
	uint32_t ops;		/* enum uft_action_ops */
	uint32_t pad;
	uint64_t limit;		/* KEEP: clock units */
};
enum uft_roots {
	UFT_ROOTS_ONLY	= 1,	/* record only below calls with UFT_ACT_ROOT */
	UFT_ROOTS_NOT	= 2,	/* record neither calls with UFT_ACT_HIDE nor calls below them */
	/* record only in threads that an event has switched on (UFT_RULE_GRAPH) during this graph_turn */
	UFT_ROOTS_TRIGGER = 4,
};

struct uft_tracer_params {
	uint32_t tracer;	/* enum uft_tracer: what armed sites do */
	uint32_t max_depth;	/* graph: 0 no limit */
	uint64_t thresh;	/* graph: clock units; only longer calls, as UFT_REC_CALL; 0 all */
	uint32_t has_roots;	/* graph: enum uft_roots */
	uint32_t has_pids;	/* enum uft_pid_lists */
	uint32_t npids;
	uint32_t pids[61];	/* pids or tids: npids that are wanted, behind them nnot_pids that are not */
	uint32_t nactions;	/* of action[] */
	uint32_t nnot_pids;
	uint32_t has_events;	/* graph, and CPU and SELF of the profile: enum uft_events */
	uint64_t clocks_per_ns;	/* times 2^32; with UFT_EVENTS_CPU */
	uint32_t stacks;	/* enum uft_stacks: records that a stack follows */
	uint32_t nstack_ids;
	uint32_t stack_ids[UFT_NSTACK_IDS];	/* with UFT_STACKS_SOME: ascending */
	/* with UFT_PIDS_FORK: number of the lists; a task made under another number is on none */
	uint32_t kin;
	uint32_t kin_lists;	/* lists that this process is on: enum uft_pid_lists */
	/* with UFT_ROOTS_TRIGGER: number of the triggers, not 0; threads switched on under another one are off */
	uint32_t graph_turn;
	uint32_t counts;	/* 1: clocks only order the records of each task, and are no times */
	struct uft_action action[UFT_NACTIONS];
};
enum uft_stacks {
	UFT_STACKS_FUNC		= 1,	/* each FUNC */
	UFT_STACKS_EVENT	= 2,	/* each event with arguments */
	UFT_STACKS_SOME		= 8,	/* each FUNC and ENTRY whose id is in stack_ids[] */
	UFT_STACKS_ENTRY	= 16,	/* each ENTRY */
	UFT_STACKS_TRACEPOINT	= 32,	/* each event of a tracepoint */
	/* FUNC: no record; the deepest stack is searched for (uft_slice.stack); */
	UFT_STACKS_MAX		= 4,
	UFT_STACKS_MAX_FUNC	= 64,	/* and FUNC is written as well */
};

/* ---- Stacks ------------------------------------------------------------------------------- */

/*
 * How the frame of a caller is found from a return address: sorted rows, each for the code from its start to
 * the next one's. The return address lies at CFA - 8. Made by the session of .eh_frame, as the kernel makes
 * ORC tables of its own.
 */
enum uft_stack_rule {
	UFT_RULE_NONE,		/* nothing is known */
	UFT_RULE_SP,		/* CFA = stack pointer + 8 * cfa */
	UFT_RULE_FP,		/* CFA = frame pointer + 8 * cfa */
	/* CFA lies in memory at frame pointer + 8 * cfa; the caller's frame pointer at the frame pointer */
	UFT_RULE_MEMORY,
	UFT_RULE_SIGNAL,	/* a signal handler's return: the interrupted registers are on the stack */
	UFT_RULE_END,		/* the outermost function: it has no caller */
};
struct uft_stack_row {
	uint32_t start;		/* address in the object */
	int16_t cfa;		/* in words */
	int8_t fp;		/* the caller's frame pointer was saved at CFA + 8 * fp; 0 nowhere */
	uint8_t rule;		/* enum uft_stack_rule */
};
_Static_assert(sizeof(struct uft_stack_row) == 8, "abi");

/* ---- Sites, objects, commands ------------------------------------------------------------- */

enum uft_site_kind {		/* the bytes at the address while the site is not armed */
	UFT_SITE_NONE,
	UFT_SITE_NOP,		/* one nop of `len` bytes (>= 5), or several whose first is >= 5 long */
	UFT_SITE_NOPS,		/* `len` one-byte nops (>= 5): coalesce before use */
	UFT_SITE_FENTRY_CALL,	/* call __fentry__, `len` 5 or 6, at the entry: nop while idle */
	UFT_SITE_MCOUNT_CALL,	/* call mcount, `len` 5 or 6, after the prologue: nop while idle */
	UFT_SITE_MCOUNT_NOP,	/* the same, made a nop at build time */
	UFT_SITE_OWN_CALL,	/* call of the program's own mcount/__fentry__: must keep being made */
	UFT_SITE_PREPAD,	/* `len` < 5 bytes of pad at the entry (>= 2), >= 5 bytes of nops before it */
	/*
	 * unprepared code; its struct uft_code was sent before. `len` is 5, 2 (by a pad), 1 (int3) or 1 to 4
	 * (punned); 4 of words
	 */
	UFT_SITE_CODE,
	UFT_SITE_OWN_FRAMED,	/* UFT_SITE_OWN_CALL that comes after the prologue (mcount), not at the entry */
};

enum uft_site_state {
	UFT_IDLE,		/* nop (calls turned into nops) */
	UFT_ORIGINAL,		/* the program's own bytes */
	UFT_FUNCTION,		/* calls the object's thunk */
	UFT_GRAPH,		/* jump to the site's stub (mcount kinds: call, return address replaced) */
};

/* Kinds of calls that the program makes itself. */
#define UFT_SITE_IS_OWN(kind)	((kind) == UFT_SITE_OWN_CALL || (kind) == UFT_SITE_OWN_FRAMED)


enum uft_site_status {		/* w: result of a change */
	UFT_ST_OK, UFT_ST_BYTES /* unexpected bytes, left alone */, UFT_ST_REACH /* no stub memory in reach */,
	UFT_ST_WRITE /* text not writable */, UFT_ST_KIND /* protocol not available */, UFT_ST_MEMORY,
	UFT_ST_LIVE /* cannot be switched while threads run */, UFT_ST_PLAIN /* UFT_SITE_CODE: no graph here */,
};

struct uft_patch {		/* 16 bytes a site */
	uint64_t addr;		/* of the first byte to change */
	uint32_t stub;		/* stub index within the object; id = object's first_stub_id + stub */
	uint8_t kind_len;	/* enum uft_site_kind | len << 4 */
	uint8_t state;		/* enum uft_site_state wanted */
	uint8_t action;		/* number in uft_tracer_params.action[]; the stub carries it */
	uint8_t status;		/* w: enum uft_site_status */
};
_Static_assert(sizeof(struct uft_patch) == 16, "abi");
/* A tracepoint (uft/tracepoint.h): its records are events of this id. */
struct uft_event_switch {
	uint64_t addr;		/* of its struct uft_tracepoint */
	uint32_t id;		/* 0: none any more */
	int32_t status;		/* w: 0 or -errno */
};
/*
 * How records of an event are treated: UFT_CMD_RULES. Each rule tests each record before that is written.
 * Without rules every record is written; with rules it is if one of UFT_RULE_RECORD accepts it. A list with
 * UFT_RULE_HIST has no other rule, so that an event is either counted or written.
 */
enum uft_rule_action {
	UFT_RULE_RECORD = 1,
	/* an accepted record switches the graph on for its thread (UFT_ROOTS_TRIGGER), */
	UFT_RULE_GRAPH,
	UFT_RULE_GRAPH_STOP,	/* or switches it off */
	/* an accepted record is counted in a map of the slice, and written only if the map has no room */
	UFT_RULE_HIST,
};
struct uft_event_rule {
	uint32_t action;	/* enum uft_rule_action */
	/*
	 * GRAPH, GRAPH_STOP: how often the rule may switch in a process; 0: no limit. HIST: bytes of
	 * its struct uft_hist_row (program/hist_row.h), which follows the program
	 */
	uint32_t count;
	/* of its struct uft_program (program/program.h), which follows; 0: it accepts all records */
	uint32_t program_bytes;
	/* rules with the same key share one count, also with rules of later lists */
	uint32_t key;
};
struct uft_event_rules {
	uint32_t id;		/* of the event */
	uint32_t bytes;		/* of all of it, a multiple of 8 */
	uint32_t nrules;
	uint32_t pad;
	/* follows: struct uft_event_rule and its program, nrules times */
};
static inline const struct uft_event_rule *uft_event_rule_next(const struct uft_event_rule *r)
{
	return (const struct uft_event_rule *)((const char *)(r + 1) + r->program_bytes +
					       (r->action == UFT_RULE_HIST ? r->count : 0));
}
#define UFT_EVENT_RULES_IDS	(1u << 16)	/* ids that may have rules, from UFT_EVENT_FREE on */
#define UFT_EVENT_RULES_MAX	32u		/* of an event */
_Static_assert(sizeof(struct uft_event_rule) == 16 && sizeof(struct uft_event_rules) == 16,
	       "programs are aligned to 8");
/* A call of a tracepoint: one nop, which becomes a jump. */
struct uft_call_switch {
	uint64_t addr, on;	/* the nop; the target of its jump */
	uint32_t is_on;
	int32_t status;		/* w: 0 or -errno */
};
/* How UFT_CMD_PATCH names sites. Bits: uint64_t word[(n + 63) / 64], bit i % 64 of word i / 64 for stub i. */
enum uft_site_form {
	UFT_SITES_LIST,		/* struct uft_patch[n], sorted by address; w: each status */
	UFT_SITES_KNOWN,	/* bits of sites that were listed before; w: bits of those that must be listed again */
	/*
	 * Bits of sites not listed before, in a process stopped at its exec. uint32_t offset[n] follows: where the
	 * site of stub i lies from text_start on. w: as above
	 */
	UFT_SITES_FIRST,
};
/* Values that all sites of an order by bits share. */
struct uft_site_order {
	uint64_t text_start;	/* FIRST: that of the object */
	uint8_t form;		/* enum uft_site_form */
	uint8_t kind_len;	/* FIRST: as in struct uft_patch */
	uint8_t state, action;	/* FIRST: state is FUNCTION or GRAPH */
	uint8_t pad[4];
};
_Static_assert(sizeof(struct uft_site_order) == 16, "abi");
#define UFT_KIND_LEN(kind, len)	((uint8_t)((kind) | (len) << 4))

enum uft_hook_kind {		/* places in unprepared code that call the runtime */
	UFT_HOOK_SYSCALL,	/* `mov $nr,%eax; syscall`: the 5-byte mov becomes a jump. nr: execve, execveat,
				 * clone, clone3, fork, vfork, mlockall, prctl, seccomp, getrlimit, setrlimit,
				 * prlimit64; UFT_HOOK_ANY: glibc's syscall(), where the last
				 * argument's move becomes the jump */
	UFT_HOOK_UNWIND,	/* entry of an unwinder's function. nr: enum uft_unwind_hook */
	UFT_HOOK_RBRK,		/* r_debug.r_brk */
};

enum uft_unwind_hook {
	UFT_UNWIND_BEGIN,	/* _Unwind_*, a walk begins: true return addresses must be on the stack */
	UFT_UNWIND_FDE,		/* _Unwind_Find_FDE(): answers for a pc in the runtime's code */
};

#define UFT_HOOK_ANY	UINT32_MAX	/* a system call whose number is in rax, one of these or any other */

struct uft_hook {
	uint64_t addr;		/* first byte replaced */
	uint32_t kind;
	uint32_t nr;		/* UFT_HOOK_SYSCALL: system call number; UNWIND: enum uft_unwind_hook */
	uint32_t len;		/* bytes to move out of line (>= 5, arm64 4, riscv64 >= 8; whole, position independent
				 * instructions), RBRK: 0 */
	int32_t result;		/* w */
	uint8_t bytes[16];	/* the bytes expected at addr */
};

enum uft_cmd_op {
	UFT_CMD_NOP,
	UFT_CMD_OBJECT,		/* struct uft_cmd_object: make or look up thunks and stubs */
	UFT_CMD_PATCH,		/* object + sites, n of them: enum uft_site_form */
	UFT_CMD_TRACER,		/* struct uft_tracer_params */
	UFT_CMD_HOOK,		/* array of struct uft_hook */
	UFT_CMD_DISARM,		/* every site and hook back to its original bytes; stubs stay mapped */
	UFT_CMD_AGENT_EXIT,	/* DISARM and end the agent */
	UFT_CMD_OBJECT_GONE,	/* object was unmapped: forget its sites and tracepoints, write nothing there */
	UFT_CMD_CODE,		/* object + array of struct uft_code, by address: code out of line for UFT_SITE_CODE */
	/* A detach, in this order; control/detach/detach.c. */
	/*
	 * for good: DISARM, and from now on nothing is hooked and no request is made. result: sites that could not be
	 * changed while threads run; w: n: those that can never be changed
	 */
	UFT_CMD_LEAVE,
	UFT_CMD_UNHOOK,		/* every slot that has a hook gets the true return address back */
	/* w: n and the array of struct uft_owned: all memory of the runtime; UFT_CMD_HELD: it is unmapped next */
	UFT_CMD_MAPPINGS,
	/* object was described wrongly: forget its sites, none of which was armed; hooks in it stay */
	UFT_CMD_OBJECT_ANEW,
	/* struct uft_cmd_rows + array of n struct uft_stack_row: a part of the object's. result 1: it has them */
	UFT_CMD_ROWS,
	/* array of struct uft_event_switch: events of tracepoints, before calls lead there */
	UFT_CMD_EVENTS,
	UFT_CMD_RULES,		/* n struct uft_event_rules, one behind the other; before the EVENTS of these events.
				 * result: how many of them are not in force: their events have none */
	/* array of struct uft_call_switch, by address: all calls of tracepoints in an object, or a part of them */
	UFT_CMD_TRACEPOINTS,
};

enum uft_cmd_flags {		/* of UFT_CMD_PATCH; doc/design/unprepared.md */
	UFT_PATCH_FRESH	= 1,	/* no thread has run in the object yet */
	/* also of HOOK and LEAVE: the session has stopped all tasks, none inside the bytes that change */
	UFT_CMD_HELD	= 2,
	UFT_PATCH_TRY	= 4,	/* sites that need a stop of all tasks are not counted: the session tries them again */
	/* the process is stopped at its exec: no task runs, and nothing was mapped since the last list */
	UFT_PATCH_STILL	= 8,
};

struct uft_owned {
	uint64_t at, bytes;	/* bytes: whole pages; | UFT_OWNED_TP: a thread pointer may point there */
};
#define UFT_OWNED_TP	1ull
#define UFT_OWNED_NEEDED 2ull	/* stays mapped: code of the program that cannot be changed leads there */
#define UFT_OWNED_LEAST	4096ull	/* an `at` below is a free or claimed entry */

/* A page of the list of all memory that the runtime has mapped. The blob has the first, at uft_own_first. */
struct uft_own_chunk {
	struct uft_own_chunk *next;
	uint64_t pad;
	struct uft_owned range[255];
};

struct uft_cmd_object {
	uint64_t text_start, text_end;	/* executable range, runtime addresses */
	uint32_t object;		/* session's index, < UFT_MAX_OBJECTS */
	uint32_t nstubs;		/* stubs to reserve */
	uint32_t first_text_id;		/* text id = first + ((addr - (text_start & ~3)) >> 2) */
	uint32_t first_stub_id;
	uint64_t stub_base;		/* w: address of stub 0; stubs are UFT_STUB_BYTES apart */
	uint64_t tramp_base, tramp_end;	/* w: the object's memory of thunks and stubs, for naming */
	/* w: code for stub i goes to code_base + i * UFT_CODE_STRIDE, UFT_CODE_MAX bytes */
	uint64_t code_base;
	uint32_t warm;			/* enum uft_warm: most of its sites will soon be armed, and there is time now */
	uint32_t has_code;		/* struct uft_code may follow later; ignored where code is always possible */
};
struct uft_cmd_rows {
	uint64_t bias, text_start, text_end;	/* runtime addresses: bias + row.start */
	uint32_t first, total;		/* of the rows that follow, and of all; parts come in order */
};
enum uft_warm { UFT_WARM_SITES = 1, UFT_WARM_STUBS = 2 };
#define UFT_STUB_BYTES	16
#define UFT_CODE_STRIDE	128
#define UFT_CODE_MAX	80
#define UFT_CODE_ADDR	80	/* the site's address, as data */
#define UFT_CODE_SLOT	88	/* the address that the site jumps to */
#define UFT_CODE_CALLED	101	/* behind the call of the function handler */

/*
 * The entry of an unprepared function, to be rewritten. All bytes are final: the runtime neither decodes nor relocates
 * them.
 */
struct uft_code {
	uint64_t addr;			/* the site */
	uint64_t pad;			/* site of 2 bytes: address of 5 bytes of padding within its reach; else 0 */
	uint32_t stub;
	uint8_t nmoved;			/* bytes at addr that moved: whole instructions */
	uint8_t ncode;			/* of code[] */
	/* FUNCTION only: graph would change what the function sees (its return address) */
	uint8_t is_plain;
	uint8_t status;			/* w: enum uft_site_status */
	uint8_t orig[24];		/* the bytes expected at addr, nmoved of them */
	uint8_t pad_orig[8];		/* the bytes expected at pad, 5 of them */
	uint8_t code[UFT_CODE_MAX];	/* moved instructions and the way back, made for its place */
	/* offset in code[] of the instruction that was at addr + 1, 2, ...; 0: none */
	uint8_t map[4];
	uint8_t back;			/* the jump behind the moved instructions; 0: none */
	uint8_t pushed;			/* from here on a return address is pushed; 0: never */
	/* the site lies behind a signature of the return address (arm64): code[] begins with it */
	uint8_t is_signed;
	/* the site becomes an int3, which the session serves (control/watchdog/int3.c) */
	uint8_t is_trap;
	/* so many bytes of the site become the first ones of a jump (runtime/patch/bytes/punned_jump.c); else 0 */
	uint8_t pun;
	/* pun: bytes at the site that stay as they are behind those, included; orig[] has them; 5..8 */
	uint8_t known;
	uint8_t unused[6];
};
_Static_assert(sizeof(struct uft_code) == 152, "abi");
#define UFT_PUN_MAX	4u		/* bytes that change */
#define UFT_PUN_KNOWN	8u
#define UFT_PUN_BYTES	14u		/* code at the jump's target: jmp *1f(%rip); 1: .quad slot */
/* above the heap: no memory is mapped within this distance for a jump's place */
#define UFT_HEAP_ROOM	(1ull << 30)
#define UFT_MAX_OBJECTS	1024

struct uft_cmd {
	uint32_t op;
	uint32_t n;		/* elements that follow */
	uint32_t object;	/* of all that are about one: PATCH, CODE, EVENTS, TRACEPOINTS, OBJECT_GONE ... */
	uint32_t flags;		/* enum uft_cmd_flags */
	uint64_t done;		/* w: elements done */
	struct uft_site_order sites;	/* PATCH */
	/* payload follows at +UFT_CMD_PAYLOAD */
};
#define UFT_CMD_PAYLOAD	64

/*
 * Facts that a preloaded runtime tells of its process, at +UFT_CMD_PAYLOAD, before any command: under an emulator,
 * /proc shows the program and the auxiliary vector of the emulator.
 */
#define UFT_HELLO_AUXV	40
struct uft_hello {
	uint32_t nauxv, pad;
	uint64_t auxv[2 * UFT_HELLO_AUXV];	/* type, value */
};

/* ---- Profile ------------------------------------------------------------------------------ */

/*
 * Entry [block][stub id]; blocks lie profile_ids entries apart. Block i is of CPU i: tasks with rseq add to it in
 * sections, processes without rseq atomically. The last block is for tasks without rseq in processes that have it,
 * because their atomic additions would be lost between the load and the store of a section.
 */
struct uft_profile {
	uint64_t hits;		/* calls begun */
	uint64_t total;		/* clock units, callees included */
	uint64_t self;		/* clock units, callees that were traced excluded */
	uint64_t squares;	/* sum of (duration >> UFT_PROFILE_SQ_SHIFT)^2 */
	uint64_t min, max;	/* min is stored as ~min, so zeroed memory means that no call has returned */
	uint64_t pad[2];
};
#define UFT_PROFILE_SQ_SHIFT	6
#define UFT_PROFILE_BLOCKS(ncpus)	((ncpus) + 1u)
_Static_assert(sizeof(struct uft_profile) == 64, "abi");

/* ---- Entry of the blob -------------------------------------------------------------------- */

/*
 * The session maps the blob (an ELF image without dynamic needs; it applies R_*_RELATIVE itself), writes this
 * block into the blob's symbol uft_boot, points the stopped task's pc at symbol uft_blob_start and lets it
 * run. The blob maps the board (`arena_path` and UFT_BOARD_SUFFIX) and the family of `slice`
 * (UFT_FAMILY_SUFFIX and its number), starts its agent, stores `result` and stops at a breakpoint instruction
 * (SIGTRAP); the session then restores the registers.
 */
#define UFT_BOARD_SUFFIX	".b"
#define UFT_FAMILY_SUFFIX	".f"	/* its number in decimal follows */
/* of a thread: registers, in the order of their numbers in instructions, and its signal mask */
struct uft_way_back {
	uint64_t reg[16], flags, pc, mask;
};
#define UFT_AGENT_STACK	(128u << 10)	/* the agent's, a guard page included */
/* between the hard limit of address space of a program and the kernel's for it */
#define UFT_LIMIT_ROOM	(1ull << 36)
struct uft_limits {			/* struct rlimit */
	uint64_t cur, max;
};
struct uft_own_limit {			/* RLIMIT_AS as the program set it, without room for the runtime's mappings */
	struct uft_limits limit;
	uint32_t is_set;		/* and the kernel's follows (runtime/platform/linux/limit.c) */
	uint32_t guest;			/* a vfork child that has set its own: its number, */
	struct uft_limits guests;
};

struct uft_boot {
	uint32_t version;
	uint32_t slice;		/* claimed by the session for this target (state LIVE already) */
	int64_t rseq_offset;	/* of struct rseq from the thread pointer; 0: none, use exchange rings */
	uint64_t arena_bytes;	/* to map: board and a family */
	uint32_t cpu_vendor_ok;	/* 1: an aligned 8-byte store over live code is known good (st8) */
	uint32_t no_mprotect;	/* 1: text must be written through /proc/self/mem (W^X) */
	int32_t result;		/* w: 0 or -errno */
	uint32_t denied;	/* enum uft_denied: what seccomp filters end the new program for */
	uint64_t blob_at, blob_bytes;	/* where the session mapped the blob */
	char arena_path[256];
	/* Attach only: uft_blob_attach instead, see below. */
	uint64_t stack;		/* lowest address of the agent's stack, a guard page first */
	uint32_t pid;		/* of the target, in its own pid namespace */
	uint32_t is_locked;	/* 1: the process has locked memory, new mappings may come locked */
	uint32_t stage;		/* w: enum uft_boot_stage */
	int32_t fd;		/* w: the agent's end for the session, once stage is UFT_BOOT_SOCKET */
	/* w: in the target's pid namespace, or -errno; valid after the task in between has ended */
	int32_t agent_tid;
	uint32_t is_rejoining;	/* w: a thread was sent to uft_blob_rejoin and has not come back */
	/* where the thread that made the agent continues if the session is killed; 0: nowhere */
	uint64_t resume;
	/* registers with which a thread in uft_blob_rejoin continues if its tracer is killed */
	struct uft_way_back back;
	uint64_t board_addr;	/* w: where the board was mapped */
	struct uft_own_limit space;	/* w */
	uint64_t rdebug;	/* the loader's list (struct r_debug), if it is known before the loader runs; else 0 */
};

/*
 * Attach. A thread of the running process is stopped only to map the blob, to make, at uft_blob_attach with
 * the registers of clone(2), the task that makes the agent, and to wait for the end of that task. The agent
 * does everything else beside the program. It has descriptors of its own and makes a pair of sockets; the
 * session takes one (pidfd_getfd) and sends descriptors through it (enum uft_boot_fd). So nothing depends on
 * paths, /proc or the numbers of a namespace.
 */
/*
 * Spares for an agent that may not open files (by the sockets of UFT_BOOT_*): messages of a family's number, 4 bytes,
 * with its descriptor, while the session finds slices that it has sent and that are not FREE any more.
 */
enum uft_boot_stage { UFT_BOOT_NONE, UFT_BOOT_SOCKET, UFT_BOOT_DONE /* result is valid */ };
enum uft_boot_fd { UFT_BOOT_ARENA, UFT_BOOT_BOARD, UFT_BOOT_SESSION, UFT_BOOT_TARGET /* pidfds */,
	UFT_BOOT_GUARD /* if there is one */,
		   UFT_BOOT_NFDS };

#endif

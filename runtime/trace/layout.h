/* SPDX-License-Identifier: MIT */
/*
 * layout.h - offsets in the shadow stack for assembly; thread.c asserts them against the C structures
 */
#ifndef UFT_TRACE_LAYOUT_H
#define UFT_TRACE_LAYOUT_H

/* struct uft_thread */
#define TH_TOP		0
#define TH_LIMIT	8
#define TH_BASE		16
#define TH_FLAGS	40

/* struct graph_limits */
#define GL_DEPTH	0
#define GL_THRESH	8

/* struct fg_entry */
#define E_WHERE		0
#define E_WORD		8
#define E_FLAGS		16
#define E_CHILD		24
#define E_RET		32
#define E_CLOCK		40
#define E_PARENT	48
#define E_SLOT		56
#define E_BYTES		64

#define FG_SILENT	1	/* its ENTRY is in no ring, or its EXIT is in one as well (E_WHERE may overrule) */
#define FG_CALL		2	/* tracing_thresh: a CALL record at the end, if it took long */
#define FG_PROFILE	4	/* counts in the profile at the end */
#define FG_PASS		65536	/* only the graph wants it beside the profile: `child` is added to its caller's */

/* Place of the number of a site's action in its stub, and numbers that are ops themselves (enum uft_action_ops). */
#define STUB_ACTION	15
#define ACT_FUNC	0x10
#define ACT_PROFILE	0x20

/*
 * x86_64: where trace.S saves arguments and results of a call, in words from its slot: rbp; rdi, rsi, rdx, rcx; rax.
 * Not for mcount's sites.
 */
#define SAVED_FP	(-11)	/* also for the function handler: the last that CALL_C saves */
#define SAVED_ARGS	(-6)
#define SAVED_RESULT	(-1)

#endif

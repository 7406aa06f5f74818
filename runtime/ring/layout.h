/* SPDX-License-Identifier: MIT */
/*
 * layout.h - offsets in rings and their tables for assembly, shared with the .S files
 *
 * Plain numbers only; ring.c asserts each of them against the C structures.
 */
#ifndef UFT_RING_LAYOUT_H
#define UFT_RING_LAYOUT_H

/* struct ring_fast */
#define RF_RSEQ		0
#define RF_NCPUS	8
#define RF_USUAL	12
#define RF_CPU		16
#define RF_GEN		24
#define RF_FLAGS	32
#define RF_SUB_MASK	40
#define RF_ON_CPUS	48
#define RF_OWN		56
#define RF_PROFILE_BYTES	64
#define RF_MASK		72
#define RF_COUNTS	80
#define RF_BESIDE	88

/* struct ring_own; neighbours are loaded as pairs */
#define RO_AGAIN	0
#define RO_AT		8
#define RO_END		16
#define RO_LIMIT	24
#define RO_THREAD	32
#define RO_RING		40
#define RO_BIAS		48
#define RO_SAVE		56
#define RO_KEY		1024	/* struct ring_own_key, at the same distance from each line */
#define RO_INTENT	1048
#define RO_SHIFT	6	/* bytes of a line */
#define RO_BITS		4	/* number of lines: 1 << RO_BITS */
#define RO_TID_SHIFT	42	/* in a key that has the thread pointer in it: where the thread's number is */
#define RO_GENERATION	22	/* in a key: where the generation is, of ten bits */

/* struct ring_tls */
#define OT_LINE		0
#define OT_WORD		8
#define OT_NUMBER	16
#define RT_TLS		48	/* in struct uft_rt: distance of ring_tls from the thread pointer */

/* struct ring_own_head, in front of the first line */
#define RH_TID_OFFSET	(-16)
#define RH_WORD		(-8)

/* struct ring_cpu */
#define RC_KEY		0
#define RC_RING		8
#define RC_THREAD	16
#define RC_CLOCK	24
#define RC_CTX_HI	28
#define RC_STACK_KEY	32
#define RC_STACK_THREAD	40
#define RC_EVENT_KEY	48
#define RC_PROFILE	56
#define RC_SHIFT	6

/* struct uft_ring and the data behind it */
#define R_COMMIT	0
#define R_CTX_TID	8
#define R_CTX_HI	12
#define R_CTX_POS	16
#define R_SUB_END	24
#define R_OLDEST	32
#define R_LOST		40
#define R_LOST_PENDING	52
#define R_LAST		56
#define R_READ		64
#define R_BACKED	72
#define R_TURN		128
#define RT_GAP		0
#define RT_GAP_TO	8
#define RT_SKIP		16
#define RT_SHIFT	5
#define R_DATA		4096

#define RINGF_ON	1
#define RINGF_OVERWRITE	2

/* struct uft_sub_header */
#define SH_POSITION	0
#define SH_LOST		8
#define SH_CLOCK	16
#define SH_TASK		24
#define SH_BYTES	32

/* struct uft_profile */
#define PR_HITS		0
#define PR_TOTAL	8
#define PR_SELF		16
#define PR_SQUARES	24
#define PR_MIN		32
#define PR_MAX		40
#define PR_BYTES_SHIFT	6

/* struct ring_op */
#define OP_WORD0	0
#define OP_WORD1	8
#define OP_BYTES	16
#define OP_FLAGS	24
#define OP_TASK		32
#define OP_GUARD	40
#define OP_EXPECT	48
#define OP_RECEIPT	56
#define OP_CLOCK	64
#define OP_KEY		72
#define OP_THREAD	80
#define OP_THREAD_FLAGS	88
#define OP_MORE		96
#define OP_RING		104
#define OP_NEED		112
#define OP_GAP		120
#define OP_GAP_TO	128
#define OP_GAP_RING	136
#define OP_COUNTED	144

#define RING_OP_SINCE	1	/* word1 is a start; the record gets clock - word1 */
#define RING_OP_EVENT	2	/* the key is for the fast path of tracepoints only */

/* in a key: it fits only the fast paths that count instead of reading the clock */
#define RING_KEY_COUNTS	1
/* in a key: it fits only the fast paths that know calls of several tracers */
#define RING_KEY_BESIDE	2
/*
 * distance to keep from the end of the clock's low half: more than the records of a sub-buffer and the numbers that
 * aborts leave out
 */
#define RING_COUNT_ROOM	(1 << 24)

/* enum uft_rec_kind */
#define UFT_ASM_REC_CONTEXT	1
#define UFT_ASM_REC_FUNC	2
#define UFT_ASM_REC_ENTRY	3
#define UFT_ASM_REC_EXIT	4
#define UFT_ASM_REC_LOST	8

/* struct ring_receipt */
#define RR_WHERE	0
#define RR_WORD		8

#define UFT_ASM_PROFILE_SQ_SHIFT	6

/* results of uft_asm_ring_write() */
#define RING_WRITTEN	0
#define RING_RETRY	1	/* the section was aborted */
#define RING_NONE	2	/* this task has no ring here: wiped table, or no CPU number */
/*
 * discard mode and full: counted in the ring; when assembly returns it, not counted yet: op.ring, at position op.need
 */
#define RING_LOST	3
#define RING_GUARD	4	/* *guard != expect any more */
#define RING_UNBACKED	5	/* op.ring has no memory at that position yet: ring_back(op.ring, op.need) */
#define RING_COUNTS	6	/* the thread's numbers continue on another CPU: count_end() */

/* struct rseq (linux/rseq.h), from the thread pointer + RF_RSEQ */
#define RSEQ_CPU_ID	4
#define RSEQ_CS		8

#endif

/* SPDX-License-Identifier: MIT */
/*
 * uft_file.h - the .uft file, specified
 *
 * A recording is one file and needs no other to be read: it has the bytes of the rings and all metadata to decode
 * them. One process writes it front to back, and it stays readable if that process, the target or the disk fails at
 * any byte.
 *
 * Layout
 *
 *     struct uft_file_header                      64 bytes
 *     { struct uft_file_block, payload, 0-7 zero bytes }  any number, each at a multiple of 8
 *
 * All integers are little endian. A checksum is XXH64 with seed 0 (the public algorithm of that name).
 * The header's covers its first 56 bytes, a block's `head_sum` the first 56 bytes of the block and
 * `payload_sum` the payload as stored. Nothing is ever overwritten: a block that is complete stays so.
 *
 * Reading. Go from block to block. Where no valid block head stands, look for the next UFT_BLOCK_MAGIC with a
 * valid `head_sum` and go on there; a block whose payload is damaged is stepped over as a whole. All that was
 * stepped over is `damaged_bytes`. Unknown types are skipped. A file without an END block belongs to a
 * recorder that is still running or was killed: all complete blocks are good. (A rescue cuts off an incomplete
 * block at the end.) A damaged file header is replaced by the first SETUP block.
 *
 * Ring data. A RING block is `raw` bytes of ring `ring` of slice `slice`, from ring position `position`
 * on, exactly as the ring had them (abi.h). Blocks of one ring stand in ascending order. A block need
 * not begin or end at a sub-buffer, nor even at a record: while `position` is where the last block of the
 * ring ended, the bytes go on. Otherwise some are missing and decoding resumes at the next multiple of
 * sub_bytes, where a sub-buffer header gives the full context. Rings 0..ncpus-1 are the CPUs', the
 * others exchange rings. Slices are numbered in the order they were met, never reused in a file (the
 * arena's slices are).
 *
 * Packed ring data (UFT_BLOCK_PACKED; in files of version 2). The block's bytes are words; each is either coded or
 * literal. With UFT_PACK_CALLS, ENTRY and EXIT records (abi.h) are coded, whose id a dictionary and a stack of open
 * calls tell; with UFT_PACK_FUNCS, FUNC records, whose id and second word a dictionary of such pairs tells. Payload:
 *
 *	u UFT_PACK_VERSION, u enum uft_pack_code, u clock, u records coded, u ids, u below, u runs, u bytes of codes,
 *		u bytes of more
 *	ids x s id - previous id		the dictionary; an id's code is its place, at most 4336 of them
 *		with UFT_PACK_FUNCS ids x { s id - previous id, s parent - previous parent (modulo 2^64) }
 *	below x u id				calls that were open before the block, the innermost first, at most 512
 *	runs x { u records, u words, u pops }	so many coded records, literal words, calls taken off the stack
 *	bits		1 bit a coded record, the lowest first, up to a whole byte: 1 is an EXIT. None with UFT_PACK_FUNCS
 *	steps		1 byte a coded record: what its clock (modulo 2^32) is beyond that of the coded one before, `clock`
 *			before the first. From 224 to 254: (byte - 224) << 8 | a byte of `more`; 255: 4 bytes of `more` instead
 *	codes		1 byte an ENTRY or FUNC: the code of its id or pair. From 240 on: 240 + ((byte - 240) << 8 | the next byte)
 *	more
 *	words		8 bytes a literal one
 *
 * An ENTRY puts its id on the stack, an EXIT has the id that it takes off. The stack is a circle of 4096 ids that
 * `below` lies in at the begin, all others 0. Nothing follows the words and no array has a byte that is not used.
 *
 * Metadata payloads are sequences of varints: u = unsigned LEB128, s = the same of a zigzag number, str = u
 * length, bytes. A payload that does not repeat may grow at its end; readers ignore what follows what they
 * know. When the same thing is described twice the later description holds.
 *
 *   SETUP     struct uft_file_header again
 *   INFO      str command line, str host name, str uname
 *   SLICE     u slice, u pid, u ppid, u image, u clock_start, u clock_end
 *             clock_end: 0 or not there; when the recorder learned that the process had ended or exec'ed, or was
 *             detached from, the block is written again with that moment
 *   IMAGE     u image, str exe
 *   OBJECT    u image, u index in image, u object, str path, str build-id, u machine, u type, u file size,
 *             u mtime (ns), s bias, u text_start, u text_end, u first_text_id, u ntext_ids, u first_stub_id,
 *             u nstubs, u from_clock, u to_clock
 *             `object` names the ELF file: the same in every image that maps it; size and mtime are those of the
 *             file that was opened, which need not be the one at `path`
 *   SITES     u image, u index, u first, u count, then count x { s stub_addr - previous stub_addr,
 *             s site_addr - this stub_addr }; previous is 0 before the first of a block
 *   FUNCS     u object, then { s addr - previous addr, u size, u flags, str name } to the end; ascending
 *             addresses; an empty name: none; previous is 0 before the first of a block
 *   TASKS     { u pid, u tid, u ppid, u image, str comm } to the end of the payload
 *   OUTER     { u slice, u tid, u outer } to the end of the payload: records of the slice name a task by its number in
 *             its own pid namespace, and in the recorder's, as in TASKS, it is `outer`
 *   CLOCK     { u clock, u CLOCK_MONOTONIC ns } to the end of the payload
 *   COUNTERS  u slice, u is_final, u n, n x u counter[], then { u ring, u lost } to the end: rings with loss,
 *             what was recorded but could not be saved included
 *   PROFILE   u slice, then { u stub id, u hits, u total, u self, u squares, u min, u max } to the end;
 *             summed over CPUs, clock units, min as a plain number
 *   DROPS     { u image, u stub id, u clock, u calls per second then, u cost in millionths of the CPU time then, u pid,
 *             u why } to the end: functions that are not traced from that clock on (1 --budget, 2 --max-rate)
 *   RESCUED   u clock, u slices, u slices of unknown image, u bytes: the recorder was killed, and another process
 *             appended so many bytes of the rings, and all metadata that it knew, at that clock
 *   FORMAT    u id, str system, str text: the type of events with this id; the text is that of the kernel's `format`
 *             file. The last one of an id counts. Files of earlier versions have none, and only events of types that
 *             were built in then
 *   END       empty, or u enum uft_stop, u bytes: the recorder finished, because of that limit
 *
 * OBJECT and SITES are written when an object appears, FUNCS at the end: ids of a recording without FUNCS
 * resolve to addresses, and those to names by the file at `path` if its build-id (without one: size and
 * time) is the recorded one.
 */
#ifndef UFT_STREAM_UFT_FILE_H
#define UFT_STREAM_UFT_FILE_H

#include <stdint.h>

#define UFT_FILE_MAGIC		0x31454c4946544655ull	/* "UFTFILE1" */
#define UFT_FILE_VERSION	1u
#define UFT_FILE_PACKED		2u	/* the same, and RING blocks may be packed */
#define UFT_BLOCK_MAGIC		0x4b434f4c42544655ull	/* "UFTBLOCK" */

/* Most bytes of a payload, stored or raw: bounds what a reader must hold of each ring. */
#define UFT_BLOCK_MAX		(1u << 20)
/* Most bytes that uft's writer puts into a RING block. */
#define UFT_BLOCK_RUN		(64u << 10)

struct uft_file_header {
	uint64_t magic;
	uint32_t version;	/* of this layout */
	uint32_t abi;		/* UFT_ABI_VERSION of the records */
	uint32_t tracer;	/* enum uft_tracer at the start */
	uint32_t ncpus, nexch;
	uint32_t ring_bytes, sub_bytes;
	uint32_t flags;		/* enum uft_file_flags */
	uint64_t realtime_ns;	/* CLOCK_REALTIME at the start */
	/* made from a trace.dat: TRACEID of the file whose clock the times are of; 0: unknown */
	uint64_t session;
	uint64_t head_sum;
};
_Static_assert(sizeof(struct uft_file_header) == 64, "file format");

enum uft_file_flags {
	UFT_FILE_OVERWRITE = 1,	  /* rings keep the newest records: missing bytes of a ring were overwritten */
	UFT_FILE_LATEST_DATE = 2, /* realtime_ns is an upper bound: made from a file without a date */
	UFT_FILE_OTHER_CLOCK = 4, /* times are not CLOCK_MONOTONIC */
	/* FLAGS records tell common_flags | common_preempt_count << 8 of the kernel, for the records behind them */
	UFT_FILE_LATENCY = 8,
	/* clocks rise by 1 or more within a task and tell no time, as trace_clock's counter */
	UFT_FILE_COUNTER = 16,
};

enum uft_block_type {
	UFT_BLOCK_SETUP = 1, UFT_BLOCK_INFO, UFT_BLOCK_SLICE, UFT_BLOCK_IMAGE, UFT_BLOCK_OBJECT, UFT_BLOCK_SITES,
	UFT_BLOCK_FUNCS, UFT_BLOCK_TASKS, UFT_BLOCK_CLOCK, UFT_BLOCK_COUNTERS, UFT_BLOCK_PROFILE, UFT_BLOCK_END,
	UFT_BLOCK_DROPS, UFT_BLOCK_RESCUED, UFT_BLOCK_FORMAT, UFT_BLOCK_OUTER,
	UFT_BLOCK_RING = 32,
};

/*
 * Why a recording ended before its target did. UFT_STOP_SIZE: the most bytes of the file; UFT_STOP_ROOM: bytes that
 * stay free.
 */
enum uft_stop { UFT_STOP_NONE, UFT_STOP_SIZE, UFT_STOP_ROOM, UFT_NSTOPS };

enum uft_block_flags {
	UFT_BLOCK_ZSTD = 1,	/* the payload is one zstd frame of `raw` bytes */
	UFT_BLOCK_PACKED = 2,	/* RING, and not ZSTD: packed ring data of `raw` bytes */
};
#define UFT_PACK_VERSION	1u
enum uft_pack_code { UFT_PACK_CALLS, UFT_PACK_FUNCS };

struct uft_file_block {
	uint64_t magic;
	uint16_t type, flags;
	uint32_t slice, ring;	/* RING */
	uint32_t stored, raw;	/* payload bytes in the file and when unpacked */
	uint32_t pad;
	uint64_t position;	/* RING: of the first byte */
	uint64_t clock;		/* RING: of the first sub-buffer header in the block; 0: none */
	uint64_t payload_sum;
	uint64_t head_sum;
};
_Static_assert(sizeof(struct uft_file_block) == 64, "file format");

#endif

/* SPDX-License-Identifier: MIT */
/* arena.h - memory shared with targets, and the image of the runtime. Context: control, the session's thread. */
#ifndef UFT_CONTROL_ARENA_H
#define UFT_CONTROL_ARENA_H

#include <sys/stat.h>

#include "control/base/base.h"
#include "control/session.h"
#include "symbol/shared.h"

#define UFT_NO_SLICE	UINT32_MAX

/* ---- arena.c, families.c ------------------------------------------------------------------------------- */

struct arena {
	const struct uft_arena *map;	/* the layout, private; the shared slices lie behind it, as it says */
	struct uft_arena *board;	/* shared; targets read it. The layout is never read from here */
	/* of each family, shared; its targets write to it. NULL: there is no such family */
	struct uft_mail uft_shared **mail;
	struct file_id { dev_t dev; ino_t ino; } *file;	/* of each family that there is */
	uint32_t nfamilies, next_family;
	uint32_t *used, nused;		/* the families that there are; a dropped one leaves its place to the last */
	/* by family: 1 + the user to whose process it was sent, for a child that is no target yet */
	uint32_t *given;
	uint32_t nspares, spare[UFT_NSPARES];	/* as on the board, private */
	uint32_t ring_flags, on_cpus;	/* initial values of a slice */
	size_t bytes;
	size_t target_bytes;	/* what a target maps: board and a family */
	int fd;			/* holds the flock that says "this session lives" */
	int board_fd;
	int own_fd;		/* the session's own slices: a file that no target maps; -1 there are none */
	int void_fd;		/* stands in place of a family that was dropped */
	/* processes that map it began then or later, in ticks since boot; 0: unknown (a process was attached) */
	uint64_t since;
	int is_linked;
	/* the files stay: a process could not be detached, and may be later (detach_request.c) */
	int is_kept;
	char path[256];
};

int arena_create(struct arena *a, const struct uft_session_opts *opts, struct uft_error *err);
void arena_destroy(struct arena *a);
void arena_unlink(const struct arena *a);	/* all files */
/* Maps all but the families, a->bytes by layout @l: in a session, or again in its guard. Returns 0 or -errno. */
int arena_map(struct arena *a, const struct uft_arena *l);
void arena_map_families(struct arena *a);	/* those whose files are there */
/*
 * Calls @fn for each session of this user: with @dead for those that have ended, whose files are locked meanwhile; else
 * for all, without locking a file. Returns 0 or -errno.
 */
int arena_each(int dead, void (*fn)(struct arena *a, void *arg), void *arg);
/*
 * Takes the lock of a session's file, if no session and no guard has it. 0 also where the file was removed meanwhile:
 * its name may be another session's by now.
 */
int arena_lock_dead(int fd);
int arena_has(const struct arena *a, uint32_t index);	/* 1: the slice exists and may be claimed by a process */
struct uft_slice uft_shared *arena_slice(const struct arena *a, uint32_t index);
struct uft_cmd uft_shared *arena_cmd(const struct arena *a, uint32_t index);
/* Bytes of a command's payload that always have memory: payloads that cannot be sent in parts fit. */
#define CMD_ROOM	(2 * UFT_PAGE - UFT_CMD_PAYLOAD)
_Static_assert(sizeof(struct uft_tracer_params) <= CMD_ROOM && sizeof(struct uft_hello) <= CMD_ROOM, "sent whole");
/*
 * Allocates the pages of memory that target and session write to: on a full file system, the first write to a missing
 * page would kill the writer by SIGBUS. Returns 0 or -ENOMEM. Kernels before 5.14 do not have this advice.
 */
int arena_reserve(void *at, uint64_t bytes);
/* for all slices, also those that are claimed later */
void arena_set_flags(struct arena *a, uint32_t ring_flags, uint32_t on_cpus);
/* gives a slice the present flags of @a: whether its rings are written, and how */
void arena_set_slice(const struct arena *a, uint32_t index);
int arena_open_family(const struct arena *a, uint32_t family);	/* a descriptor, or -errno */
/* Its file, by device and inode alone, as when it was mapped: no system call. 0 or -ENOENT. */
int arena_stat_family(const struct arena *a, uint32_t family, struct stat *st);
int64_t arena_make_family(struct arena *a);	/* its number; -EAGAIN: there are too many, or -errno */
void arena_keep_spares(struct arena *a);	/* makes others in place of those that were taken */
int arena_is_spare(const struct arena *a, uint32_t family);
int arena_is_unclaimed(const struct arena *a, uint32_t family);	/* no process has a slice in it */
/* Closes a family for claims. 1: no process has a slice in it, so it can be dropped. */
int arena_close_family(struct arena *a, uint32_t family);
void arena_drop_family(struct arena *a, uint32_t family);	/* removes its file; processes that map it keep it */
/*
 * Drops those of the families that @take writes into @family, with their files' @st, which no process maps: a process
 * that maps another family may claim a slice there, if it has none yet. Returns how many.
 */
size_t arena_drop_unmapped(struct arena *a, size_t (*take)(void *arg, uint32_t *family, struct stat *st),
			   void (*drop)(void *arg, uint32_t family), void *arg);
void arena_drop_unused(struct arena *a);	/* drops all families without a slice in use that no process maps */
/*
 * Makes a family, and claims its first slice for @pid, all counters zero; UFT_NO_SLICE, errno: EAGAIN there are too
 * many, or what is short.
 */
/* @pid: by its own namespace; @flags: enum uft_slice_flags */
uint32_t arena_claim(struct arena *a, pid_t pid, pid_t ppid, uint32_t flags);
uint32_t arena_claim_own(struct arena *a, pid_t pid, pid_t ppid);	/* the same of the session's own */
/* Clears a slice that is not being drained, and makes it free again. */
void arena_release(struct arena *a, uint32_t index);
/* gives the memory of its rings back; it stays what it is */
void arena_empty(const struct arena *a, uint32_t index);

/* ---- blob.c ---------------------------------------------------------------------------------------- */

struct blob {
	uint8_t *image;			/* span bytes, as loaded at 0 */
	uint64_t span, start, attach, rejoin, boot, own;
	uint64_t build;			/* tells it from another's image */
	struct { uint64_t addr, end, used; int prot; } seg[6];	/* behind used there are zeros, wherever it is loaded */
	unsigned nseg;
	const void *rela; size_t nrela;
};
int blob_get(const struct blob **out);

/* ---- arena_users.c --------------------------------------------------------------------------------- */

int arena_is_mapped_by(const struct arena *a, pid_t pid);	/* has the process mapped it? */
/*
 * Returns 1 if the process maps the family of the slice, shared and writable. A slice or request can name any process,
 * so it is believed only of one that maps its family in this way. (A program that reads files of other users may be
 * made to map the file, but not shared and writable.)
 */
int arena_slice_is_mapped_by(const struct arena *a, uint32_t index, pid_t pid);
int arena_is_mapped(const struct arena *a);		/* has any process but this one? */
/* 0: the process is older than all that can map the arena, so its maps need not be read. */
int arena_may_be_mapped_by(const struct arena *a, pid_t pid);
/* Sets mapped[i] for each of the @n files that some process but this one has mapped. One walk through /proc. */
void arena_find_mapped_files(const struct arena *a, const struct stat *st, size_t n, uint8_t *mapped);
/*
 * Finds a process that maps the arena and is no target, such as a fork child that has made no traced call yet. Checks
 * all processes that are younger than this one. 0: none.
 */
pid_t arena_find_agentless(const struct arena *a);

#endif

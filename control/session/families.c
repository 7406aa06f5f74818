// SPDX-License-Identifier: MIT
/*
 * families.c - keep and drop the families of slices
 *
 * A family is the file that a process and its unborn children have their slices in. It is dropped when no process has
 * it mapped, which only /proc/PID/maps of all processes tell; what a target writes decides nothing but when to look.
 * Looks cost at most 1/DROP_SHARE of the time, unless few families are left. A look that fails drops nothing, and the
 * next one is made later. Context: control, the session's thread.
 */
#include "control/start/start.h"
#include "control/session/internal.h"
#include "control/session/price.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DROP_MS		20	/* between searches for families that no process has any more, */
#define DROP_MAX_MS	1000	/* or up to so long while none is found, */
#define DROP_SHARE	100	/* and at most 1/100 of the time is spent on them; not so where few are left */

static int has_target(const struct uft_session *s, uint32_t family)
{
	for (const struct target *t = s->targets; t; t = t->next)
		if (t->slice / s->arena.map->per_file == family)
			return 1;
	return 0;
}

/*
 * Closes a family that was sent to a process and has a live slice, although no process maps it: its child was killed
 * before it announced itself, or the slice lies. 1: no process can claim anything there.
 */
static int close_given(struct uft_session *s, uint32_t family)
{
	if (!s->arena.given[family])
		return 0;
	SHARED_STORE_ORDERED(&s->arena.mail[family]->closed, 1);
	return 1;
}

/*
 * Requests in it are answered first. A thread of a child without an event so far then asks in another family. A child
 * that has ended may have announced itself here: it becomes a target and ends at once, but its records are drained
 * later by another thread. So the family stays until its slice is free.
 */
static void drop_family(void *arg, uint32_t family)
{
	struct uft_session *s = arg;
	const uint32_t user = s->arena.given[family];

	if (has_target(s, family) || (!arena_close_family(&s->arena, family) && !close_given(s, family)))
		return;
	request_serve_family(s, family);
	if (has_target(s, family) || user != s->arena.given[family]) {	/* it is a target's now */
		SHARED_STORE_RELEASE(&s->arena.mail[family]->closed, 0);
		return;
	}
	session_forget_warnings(s, family);
	s->purse[family] = (struct price_purse){ 0 };
	memset(&s->done_ns[family * UFT_NREQUESTS], 0, UFT_NREQUESTS * sizeof(*s->done_ns));
	arena_drop_family(&s->arena, family);
}

/*
 * Families in which no process has a slice, or says so without being known, into @family; their files are
 * those of @st.
 */
static size_t unclaimed_families(void *arg, uint32_t *family, struct stat *st)
{
	const struct uft_session *s = arg;
	size_t n = 0;

	for (uint32_t i = 0; i < s->arena.nused; i++) {
		uint32_t f = s->arena.used[i];

		if (arena_is_spare(&s->arena, f) || spares_has_sent(s, f) ||
		    (!arena_is_unclaimed(&s->arena, f) && !s->arena.given[f]) ||
		    has_target(s, f))
			continue;
		if (!arena_stat_family(&s->arena, f, &st[n]))
			family[n++] = f;
	}
	return n;
}

/* Returns 1 if few families are left for new programs. */
static int is_short_of_families(const struct uft_session *s)
{
	return s->arena.nused > s->arena.nfamilies / 2;
}

void families_tend(struct uft_session *s)
{
	const uint64_t now = now_ns(), least = DROP_MS * 1000000ull, most = DROP_MAX_MS * 1000000ull;
	uint32_t n = 0;

	for (const struct target *t = s->targets; t; t = t->next)
		n++;
	arena_keep_spares(&s->arena);
	spares_send(s);
	if (!s->last_drop_ns) {		/* no process can have ended so far */
		s->last_drop_ns = now;
		s->drop_pause_ns = least;
	}
	__atomic_store_n(&s->arena.board->is_full, n >= s->arena.map->nprocesses || !s->arena.spare[0],
			 __ATOMIC_RELAXED);
	if (now - s->last_drop_ns >= (is_short_of_families(s) ? least : s->drop_pause_ns) && !s->is_dropping) {
		size_t dropped;
		uint64_t cost;

		s->is_dropping = 1;	/* requests in a dropped family may need a new one */
		/*
		 * A fork child that may not have a family of its own claims a slice of its parent's at its first event,
		 * and the parent may have ended by then.
		 */
		dropped = arena_drop_unmapped(&s->arena, unclaimed_families, drop_family, s);
		s->is_dropping = 0;
		s->last_drop_ns = now_ns();
		cost = s->last_drop_ns - now;
		s->drop_pause_ns = dropped || s->drop_pause_ns < least ? least :
				   2 * s->drop_pause_ns < most ? 2 * s->drop_pause_ns : most;
		if (s->drop_pause_ns < cost * DROP_SHARE)
			s->drop_pause_ns = cost * DROP_SHARE;
		arena_keep_spares(&s->arena);
	}
	if (!s->is_dropping)
		forget_spaces(s);
}

// SPDX-License-Identifier: MIT
/*
 * scan_marks.c - marks at places of code: something leads there
 */
#include "control/relocate/scan_internal.h"
#include "symbol/array.h"

#include <errno.h>
#include <stdlib.h>

const struct scan_text *scan_text(const struct scan *s, uint64_t addr)
{
	for (size_t i = 0; i < s->ntext; i++)
		if (addr - s->text[i].addr < s->text[i].n)
			return &s->text[i];
	return NULL;
}

int scan_any(const struct scan_text *t, const uint64_t *map, uint64_t addr, unsigned n)
{
	size_t at = addr - t->addr;

	for (; n && at < t->n; at++, n--)
		if (scan_bit(map, at))
			return 1;
	return 0;
}

/* Code may be called there, or jumped to. */
const struct scan_text *scan_called(struct scanner *sc, uint64_t addr)
{
	const struct scan_text *t = scan_text(sc->s, addr);

	if (t) {
		mark(t->target, addr - t->addr);
		mark(t->called, addr - t->addr);
	}
	return t;
}

/* The address of code is somewhere. */
void scan_pointer(struct scanner *sc, uint64_t addr)
{
	const struct scan_text *t = scan_called(sc, addr);

	if (t)
		mark(t->pointed, addr - t->addr);
}

void scan_note_base(struct scanner *sc, uint64_t addr)
{
	if (array_reserve(sc->base, sc->room, sc->nbase + 1))
		sc->status = -ENOMEM;
	else
		sc->base[sc->nbase++].addr = addr;
}

static void note_leave(struct scanner *sc, uint64_t target, size_t from)
{
	if (array_reserve(sc->leave, sc->leave_room, sc->nleave + 1))
		sc->status = -ENOMEM;
	else
		sc->leave[sc->nleave++] = (struct leave){ target, from };
}

void scan_jump(struct scanner *sc, size_t *k, uint64_t from, uint64_t to, int is_part)
{
	const struct scan_text *t = scan_text(sc->s, to);
	const struct entry *e;

	while (*k + 1 < sc->e->n && sc->e->entry[*k + 1].func <= from)
		++*k;
	if (!t)
		return;
	mark(t->target, to - t->addr);
	if (is_part)
		mark(t->part, to - t->addr);
	e = &sc->e->entry[*k];
	if (*k >= sc->e->n || from - e->func >= e->size)
		return;
	if (to - e->func >= e->size)
		mark(t->pointed, to - t->addr);	/* in place of a call: returns to this function's caller */
	if (to == e->func || to == e->addr)
		mark(t->looped, e->func - t->addr);
	else if (e->skip == ENTRY_NOT_FUNCTION && to - e->func >= e->size)
		note_leave(sc, to, *k);
}

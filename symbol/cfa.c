/* SPDX-License-Identifier: MIT */
/*
 * cfa.c - call frame instructions: where the return address lies, instruction by instruction
 *
 * Follows only the rule for the canonical frame address, where the frame pointer was saved, and whether there is a
 * caller at all. Other saved registers are ignored.
 *
 * Source: DWARF 5 section 6.4.2.
 */
#include "symbol/elf_view.h"
#include "symbol/uw_cursor.h"

const char *const uw_operands[0x40] = {
	[0x00] = "", [0x02] = "1", [0x03] = "2", [0x04] = "4", [0x05] = "uu", [0x06] = "u", [0x07] = "u", [0x08] = "u",
	[0x09] = "uu", [0x0a] = "", [0x0b] = "", [0x0c] = "uu", [0x0d] = "u", [0x0e] = "u", [0x0f] = "b", [0x10] = "ub",
	[0x11] = "us", [0x12] = "us", [0x13] = "s", [0x14] = "uu", [0x15] = "us", [0x16] = "ub", [0x2e] = "u",
};

void uw_skip_operands(struct uw_cursor *c, const char *what)
{
	for (; *what && c->p; what++) {
		if (*what == 'u' || *what == 's')
			uw_leb(c, *what == 's');
		else if (*what == 'b')
			uw_take(c, uw_leb(c, 0));
		else
			uw_take(c, *what - '0');
	}
}

#define UW_MAX_STATES	8	/* remembered states at a time */
#define UW_REG_PC	16
#define UW_REG_FP	6

/*
 * Reads gcc's expression for a function that aligns its stack: the frame address lies in memory, below the frame
 * pointer (DW_OP_breg6 offset; DW_OP_deref). Other expressions are ignored.
 */
static void uw_expression(struct uw_cursor *c, struct uft_cfa *cfa)
{
	uint64_t len = uw_leb(c, 0);
	struct uw_cursor expr = *c;
	const uint8_t *p;

	cfa->reg = -1;
	cfa->is_indirect = 0;
	if (!uw_take(c, len))
		return;
	expr.end = expr.p + len;
	p = uw_take(&expr, 1);
	if (!p || *p != 0x70 + UW_REG_FP)
		return;
	cfa->offset = (int64_t)uw_leb(&expr, 1);
	p = uw_take(&expr, 1);
	cfa->is_indirect = p && *p == 0x06 && expr.p == expr.end;
}

/* DW_CFA_offset and its like: @at is the distance of saved register @reg from the frame address; 0: its usual place. */
static void uw_saved(struct uft_cfa *cfa, uint64_t reg, int64_t at)
{
	if (reg == UW_REG_FP)
		cfa->fp = at;
}

/* Returns the bytes of an advance; 0: no advance. */
static uint64_t uw_advance(uint8_t op, const uint8_t *p)
{
	switch (op) {
	case 0x02: return p[0];
	case 0x03: return p[0] | p[1] << 8;
	case 0x04: return elf_get32(p);
	default: return 0;
	}
}

int uw_run(const struct uft_unwind *u, int (*fn)(void *arg, const struct uft_cfa *cfa), void *arg, struct uft_cfa *end,
	   int *no_parent)
{
	struct uw_cursor c = { u->insn, u->insn + u->ninsn, 0 };
	struct uft_cfa now = u->start, kept[UW_MAX_STATES];
	uint64_t stop = u->addr + u->size, step, reg;
	unsigned nkept = 0;
	int ret = 0;

	now.addr = u->addr;
	if (no_parent)
		*no_parent = 0;
	while (c.p && c.p < c.end && !ret) {
		uint8_t op = *uw_take(&c, 1);
		struct uw_cursor arg0 = c;

		if (op & 0xc0) {
			step = op >> 6 == 1 ? op & 0x3f : 0;
			if (op >> 6 == 2)
				uw_saved(&now, op & 0x3f, (int64_t)uw_leb(&c, 0) * u->data_align);
			else if (op >> 6 == 3)
				uw_saved(&now, op & 0x3f, u->start.fp);
		} else {
			if (!uw_operands[op])
				break;
			uw_skip_operands(&c, uw_operands[op]);
			if (!c.p)
				break;
			step = uw_advance(op, arg0.p);
			switch (op) {
			case 0x07:
				if (no_parent && uw_leb(&arg0, 0) == UW_REG_PC)
					*no_parent = 1;
				break;
			case 0x0a:
				if (nkept < UW_MAX_STATES)
					kept[nkept] = now;
				nkept++;
				break;
			case 0x0b:
				if (nkept && --nkept < UW_MAX_STATES) {
					kept[nkept].addr = now.addr;
					now = kept[nkept];
				}
				break;
			case 0x05: case 0x11:
				reg = uw_leb(&arg0, 0);
				uw_saved(&now, reg, (int64_t)uw_leb(&arg0, op == 0x11) * u->data_align);
				break;
			case 0x06:
				uw_saved(&now, uw_leb(&arg0, 0), u->start.fp);
				break;
			case 0x08:
				uw_saved(&now, uw_leb(&arg0, 0), 0);
				break;
			case 0x0c: case 0x12:
				now.reg = (int)uw_leb(&arg0, 0);
				now.offset = (int64_t)uw_leb(&arg0, op == 0x12) * (op == 0x12 ? u->data_align : 1);
				break;
			case 0x0d:
				now.reg = (int)uw_leb(&arg0, 0);
				break;
			case 0x0e:
				now.offset = (int64_t)uw_leb(&arg0, 0);
				break;
			case 0x13:
				now.offset = (int64_t)uw_leb(&arg0, 1) * u->data_align;
				break;
			case 0x0f:
				uw_expression(&arg0, &now);
				break;
			}
		}
		if (!step)
			continue;
		step *= u->code_align;
		if (now.addr >= stop || step >= stop - now.addr)
			break;
		now.end = now.addr + step;
		ret = fn ? fn(arg, &now) : 0;
		now.addr = now.end;
	}
	now.end = stop;
	if (fn && !ret && now.addr < stop)
		ret = fn(arg, &now);
	if (end)
		*end = now;
	return ret;
}

int uft_unwind_each(const struct uft_unwind *u, int (*fn)(void *arg, const struct uft_cfa *cfa), void *arg)
{
	return uw_run(u, fn, arg, NULL, NULL);
}

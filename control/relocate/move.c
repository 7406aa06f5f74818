// SPDX-License-Identifier: MIT
/*
 * move.c - the first instructions of a function, written again for another place
 *
 *	in the function				in the copy
 *	anything without an address		as it is
 *	operand at disp(%rip)			the same operand from there
 *	jmp, jcc (short or long)		the long form
 *	loop, jrcxz				loop 1f; jmp 2f; 1: jmp target; 2:
 *	call target				push original return address; jmp target
 *	call *operand				push original return address; jmp *operand
 *
 * A call must be the last to be moved, because what it returns to is the function and not the copy: unwinders, and
 * code that looks at its caller, see what they always saw. The address is pushed from memory behind the copy, in
 * one instruction, so that no signal sees half of it.
 *
 * Cannot move: calls that return into the overwritten bytes, system calls and traps (their own address is seen),
 * transactions, far branches, and forms that no compiler makes.
 */
#include "control/relocate/move.h"

#include <errno.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "runtime/arch/x86_64/encode.h"

#define OP_LOOP_FIRST	0xe0	/* loopne, loope, loop, jrcxz */
#define OP_LOOP_LAST	0xe3
#define REG_RSP		4

struct writer {
	struct move *m;
	uint64_t push_to;	/* return address to be pushed, 0 none; its cell comes last */
	unsigned push_at;	/* offset of that push */
	int status;
};

static uint64_t here(const struct writer *w)
{
	return w->m->to + w->m->ncode;
}

static uint8_t *take(struct writer *w, unsigned n)
{
	uint8_t *p = w->m->out + w->m->ncode;

	if (w->status || n > sizeof(w->m->out) - w->m->ncode) {
		w->status = w->status ? w->status : -E2BIG;
		return NULL;
	}
	w->m->ncode += n;
	return p;
}

static void put(struct writer *w, const void *bytes, unsigned n)
{
	uint8_t *p = take(w, n);

	if (p)
		memcpy(p, bytes, n);
}

/* The displacement field of an instruction whose last byte is @tail bytes behind the field. */
static void put_rel32(struct writer *w, uint64_t target, unsigned tail)
{
	uint64_t end = here(w) + 4 + tail;
	uint8_t *p = take(w, 4);

	if (!p)
		return;
	if (!uft_insn_reaches(end, target))
		w->status = -ERANGE;
	uft_put32(p, (uint32_t)(target - end));
}

static void put_push_return(struct writer *w, uint64_t address)
{
	put(w, "\xff\x35", 2);
	w->push_at = w->m->ncode;
	w->push_to = address;
	put(w, "\0\0\0\0", 4);
	w->m->pushed = w->m->ncode;
}

static void put_jump(struct writer *w, uint64_t target)
{
	put(w, "\xe9", 1);
	put_rel32(w, target, 0);
}

/* A direct branch to @target. */
static int put_branch(struct writer *w, const ZydisDecodedInstruction *in, uint64_t target, uint64_t next)
{
	uint8_t cc[2] = { 0x0f, (uint8_t)(0x80 | (in->opcode & 0xf)) };

	if (in->attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE)
		return -ENOTSUP;	/* 16 bits of target on some CPUs */
	if (in->opcode_map == ZYDIS_OPCODE_MAP_0F && (in->opcode & 0xf0) == 0x80) {
		put(w, cc, 2);
		put_rel32(w, target, 0);
		return 0;
	}
	if (in->opcode_map != ZYDIS_OPCODE_MAP_DEFAULT)
		return -ENOTSUP;
	if ((in->opcode & 0xf0) == 0x70) {
		put(w, cc, 2);
		put_rel32(w, target, 0);
	} else if (in->opcode >= OP_LOOP_FIRST && in->opcode <= OP_LOOP_LAST) {
		const uint8_t loop[] = { in->opcode, 2, 0xeb, 5 };

		if (in->attributes & ZYDIS_ATTRIB_HAS_ADDRESSSIZE)
			put(w, "\x67", 1);
		put(w, loop, sizeof(loop));
		put_jump(w, target);
	} else if (in->opcode == UFT_OP_JMP || in->opcode == UFT_OP_JMP_SHORT) {
		put_jump(w, target);
		w->m->is_end = 1;
		w->m->jump = (int64_t)(target - w->m->from);
	} else if (in->opcode == UFT_OP_CALL) {
		put_push_return(w, next);
		put_jump(w, target);
		w->m->is_end = 1;
	} else {
		return -ENOTSUP;
	}
	return 0;
}

/* @p with an operand at disp(%rip) if it has one; @modrm replaces the byte there unless 0. */
static void put_reaimed(struct writer *w, const ZydisDecodedInstruction *in, const uint8_t *p, uint64_t from,
			uint8_t modrm)
{
	unsigned at = in->raw.disp.offset;
	uint64_t next = from + in->length;
	uint8_t copy[ZYDIS_MAX_INSTRUCTION_LENGTH];

	memcpy(copy, p, in->length);
	if (modrm)
		copy[in->raw.modrm.offset] = modrm;
	if (!(in->attributes & ZYDIS_ATTRIB_IS_RELATIVE)) {
		put(w, copy, in->length);
		return;
	}
	put(w, copy, at);
	put_rel32(w, next + (uint64_t)in->raw.disp.value, in->length - at - 4);
	put(w, copy + at + 4, in->length - at - 4);
}

/* ff /2: as a push and ff /4. */
static int put_call_indirect(struct writer *w, const ZydisDecodedInstruction *in, const uint8_t *p, uint64_t from)
{
	uint8_t modrm = p[in->raw.modrm.offset];
	int is_rsp = in->raw.modrm.mod == 3 ? in->raw.modrm.rm == REG_RSP && !in->raw.rex.B :
		     in->raw.modrm.rm == REG_RSP && in->raw.sib.base == REG_RSP && !in->raw.rex.B;

	if (is_rsp)
		return -ENOTSUP;	/* the push moves what it is relative to */
	put_push_return(w, from + in->length);
	put_reaimed(w, in, p, from, (uint8_t)((modrm & 0xc7) | 4 << 3));
	w->m->is_end = 1;
	return 0;
}

static int is_rip_relative(const ZydisDecodedInstruction *in)
{
	return in->attributes & ZYDIS_ATTRIB_HAS_MODRM && in->raw.modrm.mod == 0 && in->raw.modrm.rm == 5;
}

static int must_stay(const ZydisDecodedInstruction *in)
{
	switch (in->meta.category) {
	case ZYDIS_CATEGORY_SYSCALL: case ZYDIS_CATEGORY_SYSRET: case ZYDIS_CATEGORY_INTERRUPT:
		return 1;
	default:
		break;
	}
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_UD0: case ZYDIS_MNEMONIC_UD1: case ZYDIS_MNEMONIC_UD2: case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_XBEGIN: case ZYDIS_MNEMONIC_XEND: case ZYDIS_MNEMONIC_XABORT: case ZYDIS_MNEMONIC_RSM:
		return 1;
	default:
		return in->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
	}
}

static int put_insn(struct writer *w, const ZydisDecodedInstruction *in, const uint8_t *p, uint64_t from)
{
	uint64_t next = from + in->length;

	if (must_stay(in))
		return -ENOTSUP;
	if (in->raw.imm[0].is_relative)
		return put_branch(w, in, next + in->raw.imm[0].value.u, next);
	if (in->attributes & ZYDIS_ATTRIB_IS_RELATIVE && (!is_rip_relative(in) || in->raw.disp.size != 32 ||
							  in->attributes & ZYDIS_ATTRIB_HAS_ADDRESSSIZE))
		return -ENOTSUP;
	if (in->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && in->opcode == 0xff && in->raw.modrm.reg == 2)
		return put_call_indirect(w, in, p, from);
	put_reaimed(w, in, p, from, 0);
	if (in->meta.category == ZYDIS_CATEGORY_RET || in->meta.category == ZYDIS_CATEGORY_UNCOND_BR)
		w->m->is_end = 1;
	return 0;
}

static void put_end(struct writer *w)
{
	struct move *m = w->m;
	uint8_t cell[8];

	if (!m->is_end) {
		m->back = m->ncode;
		put_jump(w, m->from + m->nread);
	}
	if (!w->push_to)
		return;
	uft_put32(m->out + w->push_at, m->ncode - (w->push_at + 4));
	uft_put32(cell, (uint32_t)w->push_to);
	uft_put32(cell + 4, (uint32_t)(w->push_to >> 32));
	put(w, cell, 8);
}

/* ---- Common instructions, without the decoder --------------------------------------------------- */

#define USUAL_BYTES	15u

/* Bytes of a modrm byte and of what belongs to it; 0: relative to %rip. */
static unsigned operand_bytes(const uint8_t *p)
{
	unsigned mod = p[0] >> 6, has_sib = mod != 3 && (p[0] & 7) == 4, base = has_sib ? p[1] & 7 : p[0] & 7;

	if (mod == 0 && base == 5)
		return has_sib ? 6 : 0;
	return 1 + has_sib + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

/* Bytes of the immediate operand behind that of @op; -1: not such an instruction. */
static int usual_immediate(const uint8_t *p, unsigned op)
{
	unsigned reg = p[0] >> 3 & 7;

	switch (op) {
	case 0x01: case 0x03: case 0x09: case 0x0b: case 0x21: case 0x23: case 0x29: case 0x2b: case 0x31: case 0x33:
	case 0x39:
	case 0x3b: case 0x38: case 0x3a: case 0x63: case 0x84: case 0x85: case 0x88: case 0x89: case 0x8a: case 0x8b:
		return 0;
	case 0x8d:
		return p[0] < 0xc0 ? 0 : -1;
	case 0x80: case 0x83:
		return 1;
	case 0x81:
		return 4;
	case 0xc6: case 0xf6:
		return reg ? -1 : 1;
	case 0xc7: case 0xf7:
		return reg ? -1 : 4;
	default:
		return -1;
	}
}

unsigned move_usual(const uint8_t *p, size_t avail)
{
	unsigned rex = (p[0] & 0xf0) == 0x40, op, operand;
	int imm;

	if (avail < USUAL_BYTES)
		return 0;
	op = p[rex];
	if ((op & 0xf8) == 0x50)
		return rex + 1;
	if ((op & 0xf8) == 0xb8)
		return rex && p[0] & 8 ? 10 : rex + 5;
	imm = usual_immediate(p + rex + 1, op);
	operand = imm < 0 ? 0 : operand_bytes(p + rex + 1);
	return operand ? rex + 1 + operand + (unsigned)imm : 0;
}

static int read_insn(struct writer *w, ZydisDecoder *decoder, const uint8_t *p, uint64_t from, unsigned *len)
{
	struct move *m = w->m;
	ZydisDecodedInstruction in;

	*len = move_usual(p, m->avail - m->nread);
	if (*len) {
		put(w, p, *len);
		return 0;
	}
	if (decoder->machine_mode != ZYDIS_MACHINE_MODE_LONG_64)
		ZydisDecoderInit(decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder, NULL, p, m->avail - m->nread, &in)))
		return -EINVAL;
	*len = in.length;
	return put_insn(w, &in, p, from);
}

int move_code(struct move *m)
{
	struct writer w = { .m = m };
	ZydisDecoder decoder = { .machine_mode = ZYDIS_MACHINE_MODE_MAX_VALUE };
	int ret = 0;

	m->nread = m->ncode = m->ninsns = m->back = m->pushed = 0;
	m->is_end = 0;
	m->jump = 0;
	while (m->nread < m->change && !m->is_end && !ret) {
		unsigned len;

		m->at[m->ninsns] = (uint8_t)m->nread;
		m->copy[m->ninsns++] = (uint8_t)m->ncode;
		ret = read_insn(&w, &decoder, m->code + m->nread, m->from + m->nread, &len);
		if (ret == -EINVAL)
			return ret;
		m->nread += len;
	}
	/* It would return into what is overwritten. */
	if (!ret && w.push_to && w.push_to < m->from + m->change)
		ret = -ENOTSUP;
	if (!ret) {
		put_end(&w);
		ret = w.status;
	}
	return ret;
}

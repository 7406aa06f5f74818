// SPDX-License-Identifier: MIT
/*
 * access_decode.c - decode an access to watched memory
 *
 * The access is read from the code. Instructions cannot be read backwards, so all instructions of the function are
 * decoded from its start up to the one that ends where the thread was. That instruction counts if its memory operand
 * lies in a watched range, by the registers. If it has overwritten an address register itself, the operand's address is
 * not known, and the operand is assumed to be the access. All other cases are UNKNOWN: behind a jump through the
 * watched memory (the thread is at the jump's target), in code without a file, string instructions, operands in the fs
 * and gs segments. Nothing is guessed:
 *
 *	value of a write	of a mov: the register or the constant that was stored
 *	value of a read		of a mov (and movzx and the like), xchg, xadd: the present content of its register;
 *				cmpxchg: of rax
 *	otherwise		not known. Memory itself is not read, because it may have changed again by then
 *
 * An access to two points (8 bytes at an unaligned place) makes two records of the kernel: that of the lower point
 * counts.
 */
#include "control/events/access_decode.h"


#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#define CODE_MAX	(256u << 10)	/* of a function: an access deeper in it is not decoded */

/* ---- The instruction ----------------------------------------------------------------------- */

struct insn {
	ZydisDecodedInstruction in;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	uint64_t pc;		/* address of the instruction */
};

/* The code of the function up to @vaddr, malloc'd. */
static uint8_t *code_until(struct uft_object *obj, uint64_t vaddr, uint64_t *start)
{
	struct uft_error unused;
	const struct uft_func *f = uft_object_names(obj, &unused) ? NULL : uft_object_func(obj, vaddr - 1);
	uint8_t *code;

	if (!f || f->addr >= vaddr || vaddr - f->addr > CODE_MAX)
		return NULL;
	*start = f->addr;
	code = malloc(vaddr - f->addr);
	if (code && uft_object_read(obj, f->addr, code, vaddr - f->addr) != vaddr - f->addr) {
		free(code);
		return NULL;
	}
	return code;
}

/* Finds the instruction that ends at @pc. 1; 0: not known. */
static int find_insn(const struct space *space, uint64_t pc, struct insn *out)
{
	const struct uft_image *img = space->img;
	ZydisDecoder decoder;
	uint64_t at = 0, start, len;
	uint32_t i = img->nobj;
	uint8_t *code;

	while (i && (img->obj[i - 1].to_clock ||
		     pc - 1 - img->obj[i - 1].text_start >= img->obj[i - 1].text_end - img->obj[i - 1].text_start))
		i--;
	code = i ? code_until(img->obj[i - 1].obj, pc - img->obj[i - 1].bias, &start) : NULL;
	if (!code)
		return 0;
	len = pc - img->obj[i - 1].bias - start;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	/* Only the last instruction is decoded with its operands. */
	for (ZydisDecodedInstruction in; at < len; at += in.length) {
		if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, NULL, code + at, len - at, &in)))
			break;
		if (at + in.length == len &&
		    ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code + at, len - at, &out->in, out->op))) {
			out->pc = pc - in.length;
			free(code);
			return 1;
		}
	}
	free(code);
	return 0;
}

/* The sample's number of a general register; -1: another kind of register. */
static int sample_reg(ZydisRegister reg)
{
	static const int8_t by_number[16] = {
		PERF_AX, PERF_CX, PERF_DX, PERF_BX, PERF_SP, PERF_BP, PERF_SI, PERF_DI,
		PERF_R8, PERF_R8 + 1, PERF_R8 + 2, PERF_R8 + 3, PERF_R8 + 4, PERF_R8 + 5, PERF_R8 + 6, PERF_R8 + 7,
	};
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	return ZydisRegisterGetClass(whole) == ZYDIS_REGCLASS_GPR64 ? by_number[ZydisRegisterGetId(whole) & 15] : -1;
}

static int is_written(const struct insn *x, ZydisRegister reg)
{
	for (unsigned i = 0; i < x->in.operand_count; i++)
		if (x->op[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    x->op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    sample_reg(x->op[i].reg.value) == sample_reg(reg))
			return 1;
	return 0;
}

/* Adds one part of an address. 0: its value is not known any more. */
static int add_reg(const struct insn *x, ZydisRegister reg, uint64_t scale, const uint64_t *regs, uint64_t *sum)
{
	int at;

	if (reg == ZYDIS_REGISTER_NONE)
		return 1;
	if (reg == ZYDIS_REGISTER_RIP) {
		*sum += x->pc + x->in.length;
		return 1;
	}
	at = ZydisRegisterGetClass(reg) == ZYDIS_REGCLASS_GPR64 ? sample_reg(reg) : -1;
	if (at < 0 || is_written(x, reg))
		return 0;
	*sum += regs[at] * scale;
	return 1;
}

/* The address of the operand. 0: not known. */
static uint64_t address_of(const struct insn *x, const ZydisDecodedOperand *op, const uint64_t *regs)
{
	uint64_t sum = (uint64_t)op->mem.disp.value;

	if (op->mem.segment == ZYDIS_REGISTER_FS || op->mem.segment == ZYDIS_REGISTER_GS ||
	    !add_reg(x, op->mem.base, 1, regs, &sum) || !add_reg(x, op->mem.index, op->mem.scale, regs, &sum))
		return 0;
	return sum;
}

static uint64_t low_bytes(uint64_t v, unsigned bytes)
{
	return bytes < 8 ? v & ((1ull << 8 * bytes) - 1) : v;
}

/* The value of the operand, a general register or a constant. 0: another kind. */
static int value_of(const ZydisDecodedOperand *op, const uint64_t *regs, uint64_t *value)
{
	int at = op->type == ZYDIS_OPERAND_TYPE_REGISTER ? sample_reg(op->reg.value) : -1;

	if (op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		*value = op->imm.value.u;
	else if (at >= 0)
		*value = regs[at] >> (op->reg.value >= ZYDIS_REGISTER_AH && op->reg.value <= ZYDIS_REGISTER_BH ? 8 : 0);
	return op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE || at >= 0;
}

/* The value of the access by operand @mem; of a read and write, the value read. 0: not known. */
static int find_value(const struct insn *x, const ZydisDecodedOperand *mem, const uint64_t *regs, uint64_t *value)
{
	switch (x->in.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
	case ZYDIS_MNEMONIC_XCHG:
	case ZYDIS_MNEMONIC_XADD:
		return value_of(mem == &x->op[0] ? &x->op[1] : &x->op[0], regs, value);
	case ZYDIS_MNEMONIC_CMPXCHG:
		*value = regs[PERF_AX];
		return 1;
	default:
		return 0;
	}
}

/* The operand that lies in the point. NULL: none does, or it is not known which. */
static const ZydisDecodedOperand *find_operand(const struct insn *x, const struct access_point *p, const uint64_t *regs,
					       uint64_t *addr)
{
	const ZydisDecodedOperand *maybe = NULL;

	for (unsigned i = 0; i < x->in.operand_count; i++) {
		const ZydisDecodedOperand *op = &x->op[i];

		if (op->type != ZYDIS_OPERAND_TYPE_MEMORY || op->mem.type != ZYDIS_MEMOP_TYPE_MEM)
			continue;
		if (op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
			return NULL;		/* stacks and strings: the instruction has changed their registers */
		*addr = address_of(x, op, regs);
		if (*addr && *addr < p->addr + p->bytes && p->addr < *addr + op->size / 8)
			return op;
		maybe = *addr ? maybe : op;
	}
	*addr = 0;
	return maybe;
}

/* ---- The record ---------------------------------------------------------------------------- */

int access_record(const struct space *space, const struct access_point *point, uint32_t n, const struct perf_record *r,
		  uint64_t w[4])
{
	const struct access_point *p = point;
	const ZydisDecodedOperand *op;
	uint64_t addr = 0, value = 0;
	struct insn x;

	while (p < point + n && p->addr != r->addr)
		p++;
	if (p == point + n)
		return 0;
	op = find_insn(space, r->pc, &x) ? find_operand(&x, p, r->regs, &addr) : NULL;
	if (op && p->is_write_only && !(op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
		op = NULL;
	w[0] = op && addr ? addr : p->addr;
	w[1] = 0;
	w[2] = op ? x.pc : r->pc;
	w[3] = (uint64_t)(p->range + 1) << UFT_ACCESS_MAP_SHIFT;
	if (!op)
		return 1;
	for (const struct access_point *lower = point; addr && lower < point + n; lower++)
		if (lower->addr < p->addr && lower->addr + lower->bytes > addr &&
		    (!lower->is_write_only || op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			return 0;
	w[3] |= (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ ? UFT_ACCESS_READ : 0) |
		(op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ? UFT_ACCESS_WRITE : 0) |
		(uint64_t)(op->size / 8) << UFT_ACCESS_WIDTH_SHIFT;
	if (find_value(&x, op, r->regs, &value)) {
		w[1] = low_bytes(value, op->size / 8);
		w[3] |= UFT_ACCESS_VALUE;
	}
	return 1;
}

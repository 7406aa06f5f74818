/* SPDX-License-Identifier: MIT */
/*
 * entry.h - decide which function entries of an object can be rewritten, and how. Context: control; no process
 * is touched.
 *
 * The unwind entries of an object are its functions. Each is either usable or has one reason why not, so that the
 * reasons sum to the rest.
 */
#ifndef UFT_CONTROL_RELOCATE_ENTRY_H
#define UFT_CONTROL_RELOCATE_ENTRY_H

#include <elf.h>

#include "symbol/object.h"
#include "uft/abi.h"

/* Why an entry is left alone. Text for each by entry_skip_text(). */
enum entry_skip {
	ENTRY_OK,
	ENTRY_PREPARED,		/* has a site of its own (uft_object_sites) */
	ENTRY_NOT_FUNCTION,	/* plt, signal return, the cold part of a function: it is never called */
	ENTRY_SHORT,		/* too short, and no padding within reach */
	ENTRY_BRANCH,		/* a branch or a jump table leads into the bytes that would move */
	/* an instruction that cannot move: syscall, ud2, xbegin, a call that returns too early */
	ENTRY_INSN,
	ENTRY_NO_UNWIND,	/* only a symbol knows it: assembly without unwind data */
	ENTRY_DATA,		/* its first bytes do not decode, or end within an instruction */
	/* hand-written: it reads the flags that its caller left, or keeps what a function may spend */
	ENTRY_FLAGS,
	ENTRY_SECTION,		/* in a section of its own that is no text: may run where it was copied to */
	/* its stack grows when it must, and may be too small for our handlers: Go, -fsplit-stack */
	ENTRY_STACK,
	ENTRY_OURS,		/* the patcher or the unwinder needs it (hook places) */
	ENTRY_UNPREPARED,	/* other functions of the object have pads before their entries, and it has none */
	ENTRY_NSKIPS
};

struct entry {
	uint64_t addr;		/* vaddr of the first byte that changes: the function's, behind endbr64 */
	uint64_t func, size;	/* of the function */
	uint64_t pad;		/* vaddr of the padding for the 2-byte form; 0: 5-byte form */
	/* bytes of padding of its own before the function (uft_object_sites): at least a jump; 0 none */
	uint8_t before;
	uint8_t nmoved;
	uint8_t skip;		/* enum entry_skip */
	/* no jump fits, but an int3 does: usable if that was asked for, else one of those with can_trap */
	uint8_t is_trap;
	uint8_t can_trap;
	/* no jump fits but one that ends in bytes of the program: so many change, 1..4; else 0 */
	uint8_t pun;
	uint8_t known;		/* and so many from the site on stay what they are, those included: 5..8 */
	/* graph would disturb it (its return address is looked at, it returns twice): FUNCTION only */
	uint8_t is_plain;
};

struct entries {
	struct entry *entry;	/* by address */
	size_t n;
	int with_traps;		/* before entries_plan(): int3 may be used for what no jump fits */
	size_t nskip[ENTRY_NSKIPS];	/* of those that were planned or are left alone in any case */
	struct entries_priv *priv;
};

/* 1: unprepared code of this machine is rewritten. Else there are no entries. */
static inline int entries_are_known(const struct uft_object *obj)
{
	return obj->machine == EM_X86_64 || obj->machine == EM_AARCH64 || obj->machine == EM_RISCV;
}

/* Bytes that change at an entry. */
static inline unsigned entry_len(const struct uft_object *obj, const struct entry *e)
{
	return obj->machine != EM_X86_64 ? 4 : e->pun ? e->pun : e->is_trap ? 1 : e->pad ? 2 : 5;
}

/* Lists the entries without decoding: addresses and sizes, skip = ENTRY_OK, nmoved = 0. 0 or -errno. */
int entries_list(struct uft_object *obj, struct entries *out);
/* The entry of the function at vaddr @func, or NULL. */
struct entry *entries_find(const struct entries *e, uint64_t func);
/* Ranges of vaddrs (places of hooks) that no entry may touch: ENTRY_OURS. Before entries_plan(); copied. */
int entries_ours(struct entries *e, const struct uft_range *r, size_t n);
/* Plans those with want[i] != 0 (NULL: all): fills nmoved, pad, is_plain, skip. Idempotent per entry. */
int entries_plan(struct uft_object *obj, struct entries *e, const uint8_t *want);
void entries_free(struct entries *e);
const char *entry_skip_text(enum entry_skip skip);

/*
 * Does the object's own runtime look up return addresses on the stack? Known once an entry was planned. NULL:
 * none that is known.
 */
const char *entries_walker_text(const struct entries *e);

/*
 * The code of a planned entry for its slot: bytes for out->code at runtime address @at, of an object loaded at @bias.
 * Fills all of *out but stub. -ERANGE: an operand is out of reach from there.
 */
int entry_code(struct uft_object *obj, const struct entry *e, uint64_t bias, uint64_t at, struct uft_code *out);

/* A pc inside the moved bytes: its twin. @offset from the site; offset in code[], or -EINVAL: no boundary. */
int entry_twin(struct uft_object *obj, const struct entry *e, unsigned offset);

#endif

/* SPDX-License-Identifier: MIT */
/* plt.c - the function that an entry of the procedure linkage table leads to */
#include "runtime/arch/x86_64/encode.h"
#include "symbol/isa.h"
#include "symbol/object_internal.h"

const char *uft_object_plt(struct uft_object *obj, uint64_t addr)
{
	const struct isa *isa = isa_of(obj);
	uint8_t b[16];
	size_t at = 0, n = uft_object_read(obj, addr, b, sizeof(b));

	if (isa) {
		uint64_t slot = isa->plt_slot(&(struct isa_calls){ .obj = obj }, addr);

		return slot ? uft_object_got(obj, slot) : NULL;
	}
	/* [endbr64] [bnd] jmp *slot(%rip) */
	if (n >= UFT_LEN_ENDBR)
		at = uft_insn_is_endbr(b);
	if (n > at && b[at] == 0xf2)
		at++;
	if (n < at + 6 || b[at] != 0xff || b[at + 1] != 0x25)
		return NULL;
	return uft_object_got(obj, uft_insn_branch_target(b + at, 6, addr + at));
}

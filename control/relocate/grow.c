// SPDX-License-Identifier: MIT
/*
 * grow.c - code that runs on stacks which grow when they must: Go, -fsplit-stack
 *
 * Such a function looks how much of its stack is left and gets more, or gets another one, when it is not enough for
 * itself. Goroutines begin with 2 KiB; what is left below a function that is about to look may be a hundred
 * bytes. Our handlers need up to 2 KiB there and would write over what is next to it. Go also moves a stack, with
 * all return addresses on it checked against its tables. So all of this code is left alone.
 *
 * Go's own functions have no unwind entries, only symbols; C code beside them (cgo) has, and runs on a
 * thread's own stack. Of -fsplit-stack the linked file keeps no mark but the looks themselves, and small
 * functions do without. So one look is enough for the whole object. Code elsewhere that is called from there
 * is given room by the linker.
 */
#include <string.h>

#include "control/relocate/internal.h"
#include "runtime/arch/x86_64/encode.h"
#include "symbol/object_internal.h"

int grow_is_go(struct uft_object *obj)
{
	struct elf_view *v = &object_priv(obj)->view;

	for (size_t i = 1; i < v->nsh; i++) {
		const char *name = elf_section_name(v, i);

		if (!strcmp(name, ".gopclntab") || !strcmp(name, ".data.rel.ro.gopclntab"))
			return 1;
	}
	return 0;
}

/*
 * cmp %fs:0x70,%rsp, or lea -frame(%rsp),%r11; cmp %fs:0x70,%r11: where gcc and clang keep the end of a
 * thread's stack.
 */
static int is_look(const uint8_t *p, size_t n)
{
	static const uint8_t look[] = { 0x64, 0x48, 0x3b, 0x24, 0x25, 0x70, 0, 0, 0 };
	static const uint8_t look_r11[] = { 0x64, 0x4c, 0x3b, 0x1c, 0x25, 0x70, 0, 0, 0 };
	size_t lea;

	if (n >= UFT_LEN_ENDBR && uft_insn_is_endbr(p)) {
		p += UFT_LEN_ENDBR;
		n -= UFT_LEN_ENDBR;
	}
	if (n >= sizeof(look) && !memcmp(p, look, sizeof(look)))
		return 1;
	if (n < 4 || p[0] != 0x4c || p[1] != 0x8d || p[3] != 0x24)
		return 0;
	lea = p[2] == 0x9c ? 8 : p[2] == 0x5c ? 5 : n;
	return n >= lea + sizeof(look_r11) && !memcmp(p + lea, look_r11, sizeof(look_r11));
}

int grow_is_split(struct uft_object *obj, const struct entries *e)
{
	for (size_t i = 0; i < e->n; i++) {
		size_t avail;
		const uint8_t *p = e->entry[i].skip == ENTRY_OK ? object_code(obj, e->entry[i].func, &avail) : NULL;

		if (p && is_look(p, avail))
			return 1;
	}
	return 0;
}

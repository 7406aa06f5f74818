/* SPDX-License-Identifier: MIT */
/*
 * prepare.h - the compiler's options that prepare a program of a machine (EM_*), for advice; NULL: unknown.
 * Context: any
 */
#ifndef UFT_SYMBOL_PREPARE_H
#define UFT_SYMBOL_PREPARE_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#define UFT_PREPARE_X86_64	"-fpatchable-function-entry=5"
#define UFT_PREPARE_ARM64	"-fpatchable-function-entry=2"
#define UFT_PREPARE_RISCV64	"-fpatchable-function-entry=4 -falign-functions=8"

static inline const char *uft_prepare_options(uint16_t machine)
{
	switch (machine) {
	case EM_X86_64: return UFT_PREPARE_X86_64;
	case EM_AARCH64: return UFT_PREPARE_ARM64;
	case EM_RISCV: return UFT_PREPARE_RISCV64;
	default: return NULL;
	}
}

/* Returns how Debian runs programs of the machine here, as a hint; NULL: no hint. */
static inline const char *uft_prepare_emulator(uint16_t machine)
{
	return machine == EM_AARCH64 ? "qemu-aarch64 -L /usr/aarch64-linux-gnu" :
	       machine == EM_RISCV ? "qemu-riscv64 -L /usr/riscv64-linux-gnu" : NULL;
}

#endif

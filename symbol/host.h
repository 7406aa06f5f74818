/* SPDX-License-Identifier: MIT */
/*
 * host.h - the machine that uft itself runs on
 *
 * All other code outside the runtime knows machines by the files that it reads (an object's e_machine), whatever uft
 * was compiled for. Only this header depends on uft's own machine, with a branch for each architecture and the same
 * names in each:
 *
 *   HOST_MACHINE	e_machine of programs that run here without an emulator
 *   HOST_NAME	their name in a sentence
 *   host_clock()	the counter with which the runtime stamps events (arch_clock() there): one for all CPUs,
 *			never stops, counts at a fixed rate. Context: any
 *
 * control/ has the code for tasks stopped by ptrace, and their registers; meson.build lists it apart.
 */
#ifndef UFT_SYMBOL_HOST_H
#define UFT_SYMBOL_HOST_H

#include <elf.h>
#include <stdint.h>

#if defined(__x86_64__)

#define HOST_MACHINE	EM_X86_64
#define HOST_NAME	"x86-64"

static inline uint64_t host_clock(void)
{
	return __builtin_ia32_rdtsc();
}

#elif defined(__aarch64__)

#define HOST_MACHINE	EM_AARCH64
#define HOST_NAME	"arm64"

static inline uint64_t host_clock(void)
{
	uint64_t now;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(now) : : "memory");
	return now;
}

#elif defined(__riscv) && __riscv_xlen == 64

#define HOST_MACHINE	EM_RISCV
#define HOST_NAME	"riscv64"

static inline uint64_t host_clock(void)
{
	uint64_t now;

	__asm__ volatile("rdtime %0" : "=r"(now) : : "memory");
	return now;
}

#else
#error "host.h: uft does not know this architecture (doc/design/porting.md)"
#endif

#endif

/* SPDX-License-Identifier: MIT */
/*
 * table.c - __mcount_loc for the start-up pass, only with -Wl,-u,uft_start_table
 *
 * For code without unwind tables (-fno-asynchronous-unwind-tables), whose functions the pass cannot find.
 * The price: ld keeps every function that is listed, also under --gc-sections.
 */
#include <stdint.h>

#define HIDDEN __attribute__((visibility("hidden")))

extern const uintptr_t __start___mcount_loc[] HIDDEN __attribute__((weak));
extern const uintptr_t __stop___mcount_loc[] HIDDEN __attribute__((weak));

extern const uintptr_t *const uft_start_table[2] HIDDEN;
const uintptr_t *const uft_start_table[2] = { __start___mcount_loc, __stop___mcount_loc };

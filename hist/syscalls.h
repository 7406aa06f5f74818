/* SPDX-License-Identifier: MIT */
/*
 * syscalls.h - names of the machine's system calls: those of the kernel's functions without `sys_`; made by syscalls.sh
 */
#ifndef UFT_HIST_SYSCALLS_H
#define UFT_HIST_SYSCALLS_H

#define UFT_HIST_SYSCALLS	512u

extern const char *const uft_hist_syscall[UFT_HIST_SYSCALLS];	/* NULL: there is none */

#endif

/* SPDX-License-Identifier: MIT */
/*
 * hidden.h - included before every runtime source by the build
 *
 * -fvisibility=hidden covers definitions only; a declared symbol would still be reached through the GOT.
 * The blob is one image that binds to nothing outside itself, so declarations are hidden as well: every
 * access is pc-relative and the only relocations left are R_*_RELATIVE.
 */
#ifndef UFT_HIDDEN_H
#define UFT_HIDDEN_H
#ifndef __ASSEMBLER__
#pragma GCC visibility push(hidden)
#endif
#endif

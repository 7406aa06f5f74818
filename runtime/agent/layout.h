/* SPDX-License-Identifier: MIT */
/* layout.h - offsets in struct uft_boot for entry.S; boot.c asserts each of them against the structure */
#ifndef UFT_AGENT_LAYOUT_H
#define UFT_AGENT_LAYOUT_H

#define BOOT_IS_REJOINING	340
#define BOOT_RESUME	344
#define BOOT_BACK	352	/* struct uft_way_back: 16 registers, flags, pc, mask */
#define BOOT_BACK_FLAGS	(BOOT_BACK + 8 * 16)
#define BOOT_BACK_PC	(BOOT_BACK + 8 * 17)
#define BOOT_BACK_MASK	(BOOT_BACK + 8 * 18)

#endif

/* SPDX-License-Identifier: MIT */
/* owner.h - the user that can change an open file, or one of these (open_regular.h: owner_of_file()) */
#ifndef UFT_SYMBOL_OWNER_H
#define UFT_SYMBOL_OWNER_H

#include <stdint.h>

#define UFT_OWNER_OURS		0u		/* only root and uft's user can */
#define UFT_OWNER_UNKNOWN	UINT32_MAX	/* several other users can */

#endif

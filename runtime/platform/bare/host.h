/* SPDX-License-Identifier: MIT */
/* host.h - declarations inside runtime/platform/bare/ */
#ifndef UFT_BARE_HOST_H
#define UFT_BARE_HOST_H

#include "runtime/platform/bare/bare.h"

extern const struct bare_host *bare_host;	/* never NULL; set by bare_init() before anything else runs */

#endif

/* SPDX-License-Identifier: MIT */
/* livestat.h - uft stat of a session that runs */
#ifndef UFT_CMD_LIVESTAT_H
#define UFT_CMD_LIVESTAT_H

#include "output/output.h"

/* @session: as for client.h; @instance: NULL the top. The exit status; what is wrong has been said. */
int cmd_live_stat(const char *session, const char *instance, enum uft_form form);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * server.h - the page and the answers over HTTP, for the user of this machine alone
 *
 * One thread of libmicrohttpd answers on 127.0.0.1. Every path begins with a random token; a request without it, or
 * with another Host than this server's, gets 403 and nothing else, so neither another user nor a page of another web
 * site can ask.
 */
#ifndef UFT_VIEW_SERVER_H
#define UFT_VIEW_SERVER_H

#include "view/recording.h"

struct view_server;

/*
 * Starts the server. @files stay the caller's, and must outlive it. @port 0: any. 0, or negative errno and a sentence.
 */
int view_server_start(struct recording *const *files, size_t nfiles, unsigned port, struct view_server **out,
		      struct uft_error *err);
const char *view_server_url(const struct view_server *s); /* with the token, and / at its end */
void view_server_stop(struct view_server *s);
int view_server_has_page(void); /* the page was built (npm was there) */

#endif

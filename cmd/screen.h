/* SPDX-License-Identifier: MIT */
/* screen.h - a text that is drawn again and again on a terminal, until q or a signal ends it: uft top, uft hist */
#ifndef UFT_CMD_SCREEN_H
#define UFT_CMD_SCREEN_H

#include <termios.h>

struct screen { struct termios saved; int has_keys; };

/* From now on SIGINT, SIGQUIT, SIGTERM, SIGHUP and SIGPIPE only end it; one that is ignored stays so. */
void screen_catch_ends(void);
int screen_is_over(void);	/* one of them came, or q was read */

/* Standard input, if it is a terminal, gives key after key without showing them. */
void screen_begin(struct screen *s);
char screen_key(const struct screen *s);	/* that was pressed; 0: none */
void screen_end(const struct screen *s);

/* Long lines are cut at the terminal's edge, and what was below the text is gone. */
void screen_draw(const char *text);
unsigned screen_rows(void);	/* of the terminal; 0: not known */

#endif

/* SPDX-License-Identifier: MIT */
/* screen.h - redraw a text on a terminal until q or a signal ends it: uft top, uft hist */
#ifndef UFT_CMD_SCREEN_H
#define UFT_CMD_SCREEN_H

#include <termios.h>

struct screen { struct termios saved; int has_keys; };

/* Makes SIGINT, SIGQUIT, SIGTERM, SIGHUP and SIGPIPE only end the drawing; an ignored signal stays ignored. */
void screen_catch_ends(void);
int screen_is_over(void);	/* one of them came, or q was read */

/* Sets standard input, if it is a terminal, to single keys without echo. */
void screen_begin(struct screen *s);
char screen_key(const struct screen *s);	/* that was pressed; 0: none */
void screen_end(const struct screen *s);

/* Draws a text: cuts long lines at the terminal's edge, and clears the rest of the screen. */
void screen_draw(const char *text);
unsigned screen_rows(void);	/* of the terminal; 0: not known */

#endif

/* SPDX-License-Identifier: MIT */
/* screen.c - a text that is drawn again and again on a terminal; see screen.h */
#include "cmd/screen.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

static volatile sig_atomic_t is_over;

static void on_end(int sig)
{
	(void)sig;
	is_over = 1;
}

void screen_catch_ends(void)
{
	static const int sigs[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE };
	struct sigaction action = { .sa_handler = on_end }, old;

	for (size_t i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++)
		if (sigaction(sigs[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(sigs[i], &action, NULL);
}

int screen_is_over(void)
{
	return is_over;
}

void screen_begin(struct screen *s)
{
	struct termios keys;

	s->has_keys = tcgetattr(STDIN_FILENO, &s->saved) == 0;
	if (!s->has_keys)
		return;
	keys = s->saved;
	keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSANOW, &keys);
}

char screen_key(const struct screen *s)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	char key;

	if (!s->has_keys || poll(&in, 1, 0) <= 0 || !(in.revents & POLLIN) || read(STDIN_FILENO, &key, 1) != 1)
		return 0;
	is_over |= key == 'q';
	return key;
}

void screen_end(const struct screen *s)
{
	if (s->has_keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &s->saved);
}

void screen_draw(const char *text)
{
	fputs("\033[H\033[?7l", stdout);
	for (; *text; text++) {
		if (*text == '\n')
			fputs("\033[K", stdout);
		putchar(*text);
	}
	fputs("\033[J\033[?7h", stdout);
}

unsigned screen_rows(void)
{
	struct winsize size;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

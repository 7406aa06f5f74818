/* SPDX-License-Identifier: MIT */
/* warn_test.c - a target about which much is to be said leaves the sentences about others theirs */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/state/state.h"

#define CHECK(c) do { if (!(c)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #c); exit(1); } } while (0)

static uint32_t nsaid;
static char last[1024];

static void on_warning(void *arg, const char *text)
{
	(void)arg;
	nsaid++;
	snprintf(last, sizeof(last), "%s", text);
}

static uint32_t said(void)
{
	uint32_t n = nsaid;

	nsaid = 0;
	return n;
}

int main(void)
{
	static const struct uft_arena map = { .nslices = 4000, .per_file = 2 };
	struct uft_session *s = calloc(1, sizeof(*s));
	uint32_t before;

	CHECK(s != NULL);
	s->arena.map = &map;
	s->ev.warning = on_warning;
	for (int i = 0; i < 1000; i++)
		session_warn_of(s, i & 1, "library %d is not traced", i);	/* two slices of one family */
	CHECK(said() == 8);
	session_warn_of(s, 0, "library %d is not traced", 0);
	CHECK(said() == 0);
	/* What remains in it is said still, but not without end. */
	for (int i = 0; i < 10; i++)
		session_warn_left(s, 0, "%d mappings remain", i);
	CHECK(said() == 2 && !strcmp(last, "1 mappings remain"));
	session_warn_of(s, 2, "process %d: not traced any more", 2);
	CHECK(said() == 1 && !strcmp(last, "process 2: not traced any more"));
	session_warn(s, "the buffer is full");
	CHECK(said() == 1);

	/* A warning of the session belongs to the target that it works for. */
	before = session_begin_of(s, 4);
	for (int i = 0; i < 100; i++)
		session_warn(s, "event %d is refused", i);
	session_end_of(s, before);
	CHECK(said() == 8);
	session_warn(s, "the buffer is full again");
	CHECK(said() == 1);

	/* Of a process without a slice, so is one of many such. */
	for (int i = 0; i < 40; i++)
		session_warn_of(s, UFT_LOST_SLICE, "process %d is not followed", i);
	CHECK(said() == 40);
	session_warn(s, "the buffer is full once more");
	CHECK(said() == 1);

	/* A process that comes later and gets the number. */
	session_forget_warnings(s, 0);
	session_warn_of(s, 0, "process %d: of another one", 3);
	CHECK(said() == 1);

	/* Any number of children; the session has its own place. */
	for (uint32_t i = 0; i < 1000; i++)
		session_warn_of(s, 10 + 2 * i, "child %u", i);
	CHECK(said() == 512 - 60);
	for (int i = 0; i < 100; i++)
		session_warn(s, "of the session: %d", i);
	CHECK(said() == 64 - 3);

	session_free_warnings(s);
	CHECK(said() == 1);
	printf("%s\n", last);
	CHECK(!strncmp(last, "1679 more warnings", 18));
	session_free_warnings(s);
	CHECK(said() == 0);
	free(s);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* late_library.c - what late.c loads */
/*
 * Too large for a hole between mappings: five nops need an island 1.9 GB below them, and from such a hole that place
 * may be another mapping of the session.
 */
char late_room[1 << 20];

__attribute__((noinline)) int late_work(int x);

int late_work(int x)
{
	return x + 1;
}

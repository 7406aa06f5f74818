/* SPDX-License-Identifier: MIT */
/* kinds.c - calls each tracepoint of kinds.h, some with several arguments */
#include <arpa/inet.h>
#include <stdarg.h>

#define nr_cpumask_bits 70
#define CREATE_TRACE_POINTS
#include "kinds.h"

#define CREATE_CUSTOM_TRACE_EVENTS
#include "kinds_custom.h"

static void dynamic(const char *text, const u16 *list, int n, const struct cpumask *mask,
		    const struct sockaddr_in *peer, const char *fmt, ...)
{
	va_list va;

	va_start(va, fmt);
	trace_kinds_dynamic(text, list, n, mask, peer, fmt, &va);
	va_end(va);
}

int main(void)
{
	const struct sockaddr_in peer = { .sin_family = AF_INET, .sin_port = htons(80),
		.sin_addr = { htonl(0x7f000001) } };
	const struct cpumask mask = { { 0xf1, 0x21 } };
	const u16 list[] = { 1, 0x203, 0xffff };
	const u8 mac[6] = { 10, 0, 0, 1, 0xfe, 0xff };

	for (int i = 0; i < 4; i++) {
		trace_kinds_numbers(i);
		dynamic("some text", list, i, &mask, &peer, "%d-%s", i, "made");
		trace_kinds_relative("some text", list, i, &mask, &peer);
		trace_kinds_names(i == 3 ? 1ull << 40 : (u64)i, i == 3 ? 1ull << 40 | 6 : (u64)i);
		trace_kinds_condition(i);
		trace_kinds_both(i);
		trace_kinds_plain(i);
		trace_kinds_print(i);
		trace_kinds_fn(i);
		trace_kinds_odd(i);
	}
	trace_kinds_dump("0123456789abcdefghij", &peer, mac);
	dynamic(NULL, list, 0, &mask, &peer, "");
	return 0;
}

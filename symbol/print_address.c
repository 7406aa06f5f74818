/* SPDX-License-Identifier: MIT */
/* print_address.c - addresses of networks in print formats: %pI4, %pI6, %pI6c, %pIS, %pISpc, %pM and their relatives */
#include "symbol/print_nodes.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

struct address { const uint8_t *bytes; int family; const uint8_t *port; };	/* bytes NULL: no address */

/* Returns the address in a struct sockaddr. */
static struct address in_sockaddr(const struct print_value *v)
{
	struct address a = { NULL, 0, NULL };
	uint16_t family = 0;

	if (v->len >= 2)
		memcpy(&family, v->bytes, 2);
	if (family == AF_INET && v->len >= 8)
		a = (struct address){ v->bytes + 4, AF_INET, v->bytes + 2 };
	else if (family == AF_INET6 && v->len >= 24)
		a = (struct address){ v->bytes + 8, AF_INET6, v->bytes + 2 };
	return a;
}

static void put_bytes(char text[INET6_ADDRSTRLEN], const struct address *a, int is_short)
{
	size_t n = 0;

	if (a->family == AF_INET || is_short)
		inet_ntop(a->family, a->bytes, text, INET6_ADDRSTRLEN);
	for (size_t i = 0; a->family == AF_INET6 && !is_short && i < 16; i += 2)
		n += (size_t)snprintf(text + n, INET6_ADDRSTRLEN - n, "%s%02x%02x", i ? ":" : "", a->bytes[i],
				      a->bytes[i + 1]);
}

size_t print_address(const char *p, const struct print_value *v, char *to, size_t room, size_t *used)
{
	char how = *p == 'I' ? p[1] : 0, text[INET6_ADDRSTRLEN] = "";
	size_t noptions = how ? strspn(p + 2, "pfschnbl") : 0;
	int has_port, n;
	struct address a;

	*used = 2 + noptions;
	if (*p == 'M' && v->bytes && v->len >= 6) {
		*used = 1;
		n = snprintf(to, room, "%02x:%02x:%02x:%02x:%02x:%02x", v->bytes[0], v->bytes[1], v->bytes[2],
			     v->bytes[3], v->bytes[4], v->bytes[5]);
		return n > 0 && (size_t)n < room ? (size_t)n : 0;
	}
	if (!v->bytes || (how != '4' && how != '6' && how != 'S'))
		return 0;
	if (how == 'S')
		a = in_sockaddr(v);
	else
		a = (struct address){ v->len >= (how == '4' ? 4 : 16) ? v->bytes : NULL,
			how == '4' ? AF_INET : AF_INET6, NULL };
	if (!a.bytes)
		return 0;
	has_port = a.port && memchr(p + 2, 'p', noptions);
	put_bytes(text, &a, memchr(p + 2, 'c', noptions) != NULL);
	if (has_port)
		n = snprintf(to, room, a.family == AF_INET6 ? "[%s]:%u" : "%s:%u", text,
			     (unsigned)(a.port[0] << 8 | a.port[1]));
	else
		n = snprintf(to, room, "%s", text);
	return n > 0 && (size_t)n < room ? (size_t)n : 0;
}

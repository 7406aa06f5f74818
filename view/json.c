/* SPDX-License-Identifier: MIT */
/* json.c - see json.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/digits.h"
#include "output/report/table.h"
#include "symbol/array.h"
#include "view/json.h"

char *json_room(struct json *j, size_t n)
{
	if (!j->err)
		j->err = array_reserve(j->p, j->cap, j->n + n + 1);
	return j->err ? NULL : j->p + j->n;
}

void json_bytes(struct json *j, const char *s, size_t n)
{
	char *to = json_room(j, n);

	if (to) {
		memcpy(to, s, n);
		j->n += n;
		j->p[j->n] = '\0';
	}
}

void json_raw(struct json *j, const char *text)
{
	json_bytes(j, text, strlen(text));
}

void json_u(struct json *j, uint64_t v)
{
	json_numbers(j, &v, 1, 0);
}

void json_numbers(struct json *j, const uint64_t *v, size_t n, int is_below)
{
	char *p = json_room(j, n * (DIGITS_MAX + 1) + 1);

	if (!p)
		return;
	if (is_below)
		*p++ = '-';
	for (size_t i = 0; i < n; i++) {
		if (i)
			*p++ = ',';
		p = digits_plain(p, v[i]);
	}
	*p = '\0';
	j->n = (size_t)(p - j->p);
}

void json_f(struct json *j, double v)
{
	char text[64];

	snprintf(text, sizeof(text), "%.6f", v);
	json_raw(j, text);
}

void json_str(struct json *j, const char *s)
{
	json_bytes(j, "\"", 1);
	while (*s) {
		unsigned char c = (unsigned char)*s;
		unsigned n = table_utf8(s);
		char text[8];

		if (c < 0x20 || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' || c == 0x7f) {
			snprintf(text, sizeof(text), "\\u%04x", c);
			json_raw(j, text);
			s++;
		} else if (!n) {
			json_raw(j, "\\ufffd");
			s++;
		} else {
			json_bytes(j, s, n);
			s += n;
		}
	}
	json_bytes(j, "\"", 1);
}

void json_comma(struct json *j)
{
	if (j->n && !strchr("[{,:", j->p[j->n - 1]))
		json_bytes(j, ",", 1);
}

void json_key(struct json *j, const char *key)
{
	json_comma(j);
	json_str(j, key);
	json_bytes(j, ":", 1);
}

void json_key_u(struct json *j, const char *key, uint64_t v)
{
	json_key(j, key);
	json_u(j, v);
}

void json_key_str(struct json *j, const char *key, const char *s)
{
	json_key(j, key);
	json_str(j, s);
}

void json_free(struct json *j)
{
	free(j->p);
	*j = (struct json){0};
}

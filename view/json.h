/* SPDX-License-Identifier: MIT */
/* json.h - write JSON to a growing buffer; the first failure sticks. Context: control, one thread a buffer */
#ifndef UFT_VIEW_JSON_H
#define UFT_VIEW_JSON_H

#include <stddef.h>
#include <stdint.h>

struct json {
	char *p;
	size_t n, cap;
	int err; /* 0 or -ENOMEM */
};

void json_raw(struct json *j, const char *text);
void json_bytes(struct json *j, const char *text, size_t n);
/* Room for @n more bytes; the caller fills them and adds them to j->n. NULL: no memory. */
char *json_room(struct json *j, size_t n);
void json_u(struct json *j, uint64_t v);
/* Numbers with commas between them; @is_below: the first one gets a minus sign. */
void json_numbers(struct json *j, const uint64_t *v, size_t n, int is_below);
void json_f(struct json *j, double v); /* six digits behind the point */
/*
 * A string in quotes. Bytes that are no UTF-8 become U+FFFD; < and > are escaped, so that no reader takes a name for
 * markup.
 */
void json_str(struct json *j, const char *s);
/* `"key":` with a comma in front unless it is the first of its object. */
void json_key(struct json *j, const char *key);
void json_key_u(struct json *j, const char *key, uint64_t v);
void json_key_str(struct json *j, const char *key, const char *s);
void json_comma(struct json *j); /* unless the last character opens something */
void json_free(struct json *j);

#endif

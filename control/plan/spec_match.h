/* SPDX-License-Identifier: MIT */
/* spec_match.h - a function's names and a pattern. Context: control, any thread. */
#ifndef UFT_CONTROL_SPEC_MATCH_H
#define UFT_CONTROL_SPEC_MATCH_H

#include "symbol/names.h"
#include "symbol/object.h"

/* A function's names while patterns are tried; the demangled one is made when the raw one did not match. */
struct names {
	const char *raw, *object;
	char *demangled;
	int is_tried;
	int needs_object;		/* only patterns that name the object count */
};

/* Has one of the names, and the object if it is needed? The caller frees f->demangled. */
int names_match(const struct uft_pattern *p, struct names *f);
/* The names of the function at @func; @text holds a made-up one. */
void names_of(struct uft_object *obj, uint64_t func, struct names *f, char *text, size_t size);
int pattern_names_object(const struct uft_pattern *p, const struct uft_object *obj);
int pattern_is_every(const struct uft_pattern *p);	/* of any name */

#endif

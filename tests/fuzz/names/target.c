/* SPDX-License-Identifier: MIT */
/* target.c - lists of names: any bytes must parse into names that lie in the text, end, and are not empty */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/namefile.h"

static void check(const struct uft_names *l, const char *text, size_t size)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct uft_name *n = &l->item[i];

		if (n->name < text || n->name >= text + size || !n->name[0] || strlen(n->name) > 4095 || !n->addr ||
		    strchr(n->name, '\n'))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int form = UFT_NAMES_ANY; form <= UFT_NAMES_PERF; form++) {
		char *text = malloc(size + 1);
		struct uft_names l;

		memcpy(text, data, size);
		if (uft_names_parse(text, size, (enum uft_name_form)form, &l))
			abort();
		check(&l, text, size);
		uft_names_free(&l);
	}
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* sitecount.c - prints the sites of objects, for the matrix: kind, skip, address, function's address, FILE */
#include <stdio.h>

#include "symbol/object.h"

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct uft_error err = { "" };
		struct uft_object *obj;

		if (uft_object_open(argv[i], &obj, &err) || uft_object_sites(obj, &err)) {
			fprintf(stderr, "sitecount: %s\n", err.text);
			return 1;
		}
		for (size_t k = 0; k < obj->nsite; k++)
			printf("%d\t%d\t%llx\t%llx\t%s\n", obj->site[k].kind, obj->site[k].skip,
			       (unsigned long long)obj->site[k].addr, (unsigned long long)obj->site[k].func, argv[i]);
		uft_object_put(obj);
	}
	return 0;
}

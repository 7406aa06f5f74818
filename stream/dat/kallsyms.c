/* SPDX-License-Identifier: MIT */
/*
 * kallsyms.c - see kallsyms.h
 *
 * A line is `ADDRESS TYPE NAME`, for a module with a tab and `[MODULE]` behind it. Symbols that are no code (any type
 * but t, T, w, W) are left out. The kernel shows zeroes to users who may not see addresses: such a file has no
 * functions. A function ends where the next one begins; the last one of an object has no known size, and gets at most a
 * page.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stream/dat/kallsyms.h"
#include "symbol/sorted.h"

#define OBJECTS_MAX	4096u
#define FUNCS_MAX	(4u << 20)
#define KERNEL		"kernel"
#define LAST_BYTES	4096u

static uint32_t object_of(struct dat_kallsyms *k, const char *name, uint32_t last)
{
	if (k->nobjects && !strcmp(k->object[last].name, name)) /* functions of a module come in a row */
		return last;
	for (uint32_t i = 0; i < k->nobjects; i++)
		if (!strcmp(k->object[i].name, name))
			return i;
	if (k->nobjects == OBJECTS_MAX)
		return 0;
	k->object[k->nobjects] = (struct dat_object){.name = name, .start = UINT64_MAX};
	return k->nobjects++;
}

/* Cuts one line into its words. 0: the symbol is no code. */
static int cut_line(char *line, struct dat_func *f, const char **module)
{
	char *type, *tab;

	f->addr = strtoull(line, &type, 16);
	if (type == line || type[0] != ' ' || !type[1] || !strchr("tTwW", type[1]) || type[2] != ' ' || !type[3] ||
	    !f->addr)
		return 0;
	f->name = type + 3;
	*module = KERNEL;
	tab = strchr(f->name, '\t');
	if (tab) {
		size_t n = strlen(tab);

		*tab = '\0';
		if (n > 3 && tab[1] == '[' && tab[n - 1] == ']') {
			tab[n - 1] = '\0';
			*module = tab + 2;
		}
	}
	return f->name[0] != '\0';
}

static int by_addr(const void *a, const void *b)
{
	const struct dat_func *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr > y->addr ? 1 : -1;
	return (x->name > y->name) - (x->name < y->name);
}

/* Among several names of one address the first in the text stays. */
static void sort_funcs(struct dat_kallsyms *k)
{
	uint32_t n = 0;

	if (k->nfuncs)
		qsort(k->func, k->nfuncs, sizeof(*k->func), by_addr);
	for (uint32_t i = 0; i < k->nfuncs; i++)
		if (!n || k->func[n - 1].addr != k->func[i].addr)
			k->func[n++] = k->func[i];
	k->nfuncs = n;
}

/* Sets ids, which are dense in an object, and the ends of objects and functions. */
static void number_funcs(struct dat_kallsyms *k)
{
	uint32_t *next = k->by_object, at = 0;

	k->next_id = 1;
	for (uint32_t i = 0; i < k->nfuncs; i++)
		k->object[k->func[i].object].nfuncs++;
	for (uint32_t i = 0; i < k->nobjects; i++) {
		struct dat_object *o = &k->object[i];

		o->first_id = k->next_id;
		o->first_func = at;
		k->next_id += o->nfuncs;
		at += o->nfuncs;
		o->nfuncs = 0;
	}
	for (uint32_t i = 0; i < k->nfuncs; i++) {
		struct dat_func *f = &k->func[i];
		struct dat_object *o = &k->object[f->object];

		f->size = i + 1 < k->nfuncs ? f[1].addr - f->addr : LAST_BYTES;
		if (f->size > LAST_BYTES && (i + 1 == k->nfuncs || f[1].object != f->object))
			f->size = LAST_BYTES;
		f->id = o->first_id + o->nfuncs;
		next[o->first_func + o->nfuncs++] = i;
		o->start = f->addr < o->start ? f->addr : o->start;
		o->end = f->addr + f->size;
	}
}

int dat_kallsyms_read(struct dat_kallsyms *k, char *text)
{
	uint32_t lines = 1, object = 0;
	char *next = text;

	*k = (struct dat_kallsyms){.next_id = 1};
	for (const char *p = text; (p = strchr(p, '\n')); p++)
		lines++;
	lines = lines < FUNCS_MAX ? lines : FUNCS_MAX;
	k->func = calloc(lines, sizeof(*k->func));
	k->by_object = calloc(lines, sizeof(*k->by_object));
	k->object = calloc(OBJECTS_MAX, sizeof(*k->object));
	if (!k->func || !k->by_object || !k->object) {
		dat_kallsyms_free(k);
		return -ENOMEM;
	}
	while (next && k->nfuncs < lines) {
		char *line = strsep(&next, "\n");
		const char *module;

		if (!cut_line(line, &k->func[k->nfuncs], &module))
			continue;
		object = object_of(k, module, object);
		k->func[k->nfuncs++].object = object;
	}
	sort_funcs(k);
	number_funcs(k);
	return 0;
}

void dat_kallsyms_free(struct dat_kallsyms *k)
{
	free(k->func);
	free(k->by_object);
	free(k->object);
	*k = (struct dat_kallsyms){0};
}

uint32_t dat_kallsyms_id(const struct dat_kallsyms *k, uint64_t addr)
{
	uint32_t lo = SORTED_FIRST(i, k->nfuncs, k->func[i].addr > addr);

	return lo ? k->func[lo - 1].id : 0;
}

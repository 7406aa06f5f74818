/* SPDX-License-Identifier: MIT */
/* image_test.c - images and the resolver, on objects made by hand */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbol/image.h"

#define BIAS	0x7f0000000000ull

/* A program with three functions, the second with a 2-byte PREPAD site right at its (unaligned) start. */
static struct uft_object *make_prog(void)
{
	struct uft_object *obj = uft_object_make("/bin/prog", (const uint8_t *)"\1\2\3", 3);

	assert_non_null(obj);
	/* not in order: the reader may have them in any */
	assert_int_equal(uft_object_make_func(obj, 0x1102, 0x20, "_ZN3foo3barEi", 0), 0);
	assert_int_equal(uft_object_make_func(obj, 0x1000, 0x40, "main", 0), 0);
	assert_int_equal(uft_object_make_func(obj, 0x1040, 0x10, NULL, 0), 0);
	assert_int_equal(uft_object_make_func(obj, 0x1200, 0x10, "helper@a.c", UFT_FUNC_LOCAL | UFT_FUNC_DUPLICATE), 0);
	assert_int_equal(uft_object_make_func(obj, 0x1210, 0x10, "helper@b.c", UFT_FUNC_LOCAL | UFT_FUNC_DUPLICATE), 0);
	return obj;
}

static uint64_t *copy_of(const uint64_t *p, size_t n)
{
	uint64_t *q = malloc(n * sizeof(*q));

	assert_non_null(q);
	memcpy(q, p, n * sizeof(*q));
	return q;
}

static struct uft_mapped *map_prog(struct uft_image *img, struct uft_object *obj, uint64_t bias)
{
	struct uft_mapped *m = uft_image_add(img, obj, bias);
	const uint64_t stub[] = { bias + 0x1102, bias + 0x1000, bias + 0x1040 };
	/* PREPAD: the call stands before the entry, so its return address is the entry itself. */
	const uint64_t site[] = { bias + 0x1102, bias + 0x1005, bias + 0x1045 };

	m->text_start = bias + 0x1000;
	m->text_end = bias + 0x2000;
	m->first_text_id = 5000;
	m->ntext_ids = 0x400;
	m->first_stub_id = 100;
	m->nstubs = 3;
	m->stub_addr = copy_of(stub, 3);
	m->site_addr = copy_of(site, 3);
	return m;
}

static void funcs(void **state)
{
	struct uft_object *obj = make_prog();

	(void)state;
	assert_string_equal(uft_object_func(obj, 0x1000)->name, "main");
	assert_string_equal(uft_object_func(obj, 0x103f)->name, "main");
	assert_null(uft_object_func(obj, 0x1040)->name);
	assert_null(uft_object_func(obj, 0x1050));
	assert_null(uft_object_func(obj, 0xfff));
	assert_null(uft_object_func(obj, ~0ull));
	assert_int_equal(obj->nfunc, 5);
	/* the same address again, and more afterwards */
	assert_int_equal(uft_object_make_func(obj, 0x1000, 0x40, "main", 0), 0);
	assert_int_equal(uft_object_make_func(obj, 0x900, 4, "first", 0), 0);
	assert_string_equal(uft_object_func(obj, 0x901)->name, "first");
	assert_int_equal(obj->nfunc, 6);
	uft_object_put(obj);
}

static void ids(void **state)
{
	struct uft_object *obj = make_prog();
	struct uft_image *img = uft_image_alloc(1, "/bin/prog");
	struct uft_resolver *r = uft_resolver_alloc();
	const struct uft_sym *s;

	(void)state;
	map_prog(img, obj, BIAS);
	s = uft_resolve_id(r, img, 101);
	assert_string_equal(s->name, "main");
	assert_string_equal(s->object, "prog");
	assert_int_equal(s->addr, BIAS + 0x1000);
	assert_int_equal(s->size, 0x40);
	/* stub id, text id and address are the same function: one symbol */
	assert_ptr_equal(uft_resolve_id(r, img, 5000 + (5 >> 2)), s);
	assert_ptr_equal(uft_resolve_addr(r, img, BIAS + 0x1010), s);
	assert_ptr_equal(uft_resolve_id(r, img, 101), s);
	/* granule of 0x1102 begins at 0x1100, which belongs to nobody: the site table knows */
	assert_string_equal(uft_resolve_id(r, img, 5000 + (0x102 >> 2))->name, "foo::bar");
	assert_string_equal(uft_resolve_id(r, img, 100)->name, "foo::bar");
	assert_string_equal(uft_resolve_id(r, img, 102)->name, "prog+0x1040");
	assert_string_equal(uft_resolve_addr(r, img, BIAS + 0x1201)->name, "helper@a.c");
	assert_string_equal(uft_resolve_addr(r, img, BIAS + 0x1211)->name, "helper@b.c");
	/* unknown ones are named by their number, whatever it is */
	assert_string_equal(uft_resolve_id(r, img, 99)->name, "id#99");
	assert_string_equal(uft_resolve_id(r, img, ~0u)->name, "id#4294967295");
	assert_string_equal(uft_resolve_addr(r, img, 0)->name, "0x0");
	assert_string_equal(uft_resolve_addr(r, img, 0x1234)->name, "0x1234");
	assert_string_equal(uft_resolve_addr(r, img, BIAS + 0x1300)->name, "prog+0x1300");
	uft_resolver_free(r);
	uft_image_free(img);
	uft_object_put(obj);
}

static uint32_t index_of_main(struct uft_resolver *r, const char *path, const char *build_id)
{
	static uint32_t id = 8;
	struct uft_object *obj = uft_object_make(path, (const uint8_t *)build_id, (uint32_t)strlen(build_id));
	struct uft_image *img = uft_image_alloc(++id, "p");
	struct uft_mapped *m;
	const struct uft_sym *s;

	assert_int_equal(uft_object_make_func(obj, 0x1000, 0x10, "main", 0), 0);
	m = uft_image_add(img, obj, BIAS);
	m->text_start = BIAS + 0x1000;
	m->text_end = BIAS + 0x2000;
	s = uft_resolve_addr(r, img, BIAS + 0x1004);
	assert_true(uft_image_sym_addr(img, s) == BIAS + 0x1000);
	uft_image_free(img);
	uft_object_put(obj);
	return s->index;
}

/* git runs itself from another folder, where its package has a copy. */
static void copies(void **state)
{
	struct uft_resolver *r = uft_resolver_alloc();
	uint32_t one = index_of_main(r, "/usr/bin/git", "1234");

	(void)state;
	assert_int_equal(index_of_main(r, "/usr/lib/git-core/git", "1234"), one);
	assert_int_not_equal(index_of_main(r, "/usr/lib/git-core/git", "1235"), one);
	assert_int_not_equal(index_of_main(r, "/usr/lib/git-core/tig", "1234"), one);
	one = index_of_main(r, "/tmp/a/prog", "");
	assert_int_not_equal(index_of_main(r, "/tmp/b/prog", ""), one);
	assert_int_equal(index_of_main(r, "/tmp/a/prog", ""), one);
	uft_resolver_free(r);
}

/* A program at another address is the same function; another object's function of that name is not. */
static void identity(void **state)
{
	struct uft_object *obj = make_prog(), *again = make_prog(), *lib = uft_object_make("/lib/libx.so", NULL, 0);
	struct uft_image *one = uft_image_alloc(1, "p"), *two = uft_image_alloc(2, "p");
	struct uft_resolver *r = uft_resolver_alloc();
	const struct uft_sym *s, *t;
	struct uft_mapped *m;

	(void)state;
	map_prog(one, obj, BIAS);
	map_prog(two, again, 2 * BIAS);
	s = uft_resolve_id(r, one, 101);
	assert_ptr_equal(uft_resolve_id(r, two, 101), s);
	assert_ptr_equal(uft_resolve_addr(r, two, 2 * BIAS + 0x1000), s);

	/* The image grows: what was unknown is known now. */
	assert_string_equal(uft_resolve_addr(r, one, 0x5004)->name, "0x5004");
	assert_int_equal(uft_object_make_func(lib, 0x4, 0x10, "main", 0), 0);
	m = uft_image_add(one, lib, 0x5000);
	m->text_start = 0x5000;
	m->text_end = 0x6000;
	t = uft_resolve_addr(r, one, 0x5004);
	assert_string_equal(t->name, "main@libx.so");
	assert_string_equal(t->object, "libx.so");
	assert_int_not_equal(t->index, s->index);
	assert_ptr_equal(uft_resolve_id(r, one, 101), s);

	/* The library was unmapped and another one came to its address: the one that is still there answers. */
	one->obj[1].to_clock = 77;
	m = uft_image_add(one, obj, 0x5000 - 0x1000);
	m->text_start = 0x5000;
	m->text_end = 0x6000;
	assert_ptr_equal(uft_resolve_addr(r, one, 0x5004), s);
	uft_image_free(one);

	/* Another image in the same memory or not: its id tells. */
	one = uft_image_alloc(3, "p");
	assert_string_equal(uft_resolve_addr(r, one, 0x5004)->name, "0x5004");
	uft_resolver_free(r);
	uft_image_free(one);
	uft_image_free(two);
	uft_object_put(obj);
	uft_object_put(again);
	uft_object_put(lib);
}

/* Indices are dense, and symbols stay where they are while there come more. */
static void symbols_stay_in_place(void **state)
{
	struct uft_object *obj = uft_object_make("/bin/big", NULL, 0);
	struct uft_image *img = uft_image_alloc(1, "big");
	struct uft_resolver *r = uft_resolver_alloc();
	const struct uft_sym *first = NULL, *s;
	enum { N = 20000 };
	uint8_t *seen = calloc(N + 16, 1);
	struct uft_mapped *m;
	char name[32];
	int i;

	(void)state;
	for (i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		assert_int_equal(uft_object_make_func(obj, 16 * i, 16, name, 0), 0);
	}
	m = uft_image_add(img, obj, 0);
	m->text_end = 16 * N;
	m->ntext_ids = 4 * N;
	for (i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		s = uft_resolve_id(r, img, 4 * i + 1);
		assert_string_equal(s->name, name);
		assert_true(s->index < N + 16 && !seen[s->index]);
		seen[s->index] = 1;
		first = first ? first : s;
	}
	assert_ptr_equal(uft_resolve_id(r, img, 1), first);
	assert_string_equal(first->name, "f0");
	free(seen);
	uft_resolver_free(r);
	uft_image_free(img);
	uft_object_put(obj);
}

#define PLACES	64u
#define CLOCKS	12u

/* Answers for each place and time, of @img and a symbol of each of its objects. */
static void ask_all(const struct uft_image *img, struct uft_object *const obj[3], uint64_t *to)
{
	for (uint64_t addr = 0; addr < PLACES; addr++) {
		for (uint64_t clock = 0; clock < CLOCKS; clock++)
			*to++ = uft_image_at(img, addr, clock);
		*to++ = uft_image_at(img, addr, UINT64_MAX);
		*to++ = uft_image_offset(img, addr);
		for (int i = 0; i < 3; i++)
			*to++ = uft_image_sym_addr(img,
						   &(struct uft_sym){ .of = obj[i], .vaddr = addr % 4, .addr = 77777 });
	}
	*to = (uint64_t)uft_image_overlaps(img);
}

/* With a table an image answers as without one. */
static void indexed(void **state)
{
	static uint64_t plain[PLACES * (CLOCKS + 5) + 1], quick[PLACES * (CLOCKS + 5) + 1];
	struct uft_object *obj[3];
	uint32_t seed = 1;

	(void)state;
	for (int i = 0; i < 3; i++) {
		obj[i] = uft_object_make(i ? i == 1 ? "/lib/b" : "/tmp/made" : "/bin/a", NULL, 0);
		obj[i]->type = i < 2 ? 3 : 0;
		assert_int_equal(uft_object_make_func(obj[i], 1, 2, "f", 0), 0);
	}
	for (int round = 0; round < 200; round++) {
		struct uft_image *img = uft_image_alloc(1, "/bin/a");
		uint64_t room = 1u << 20, none = 0;

		for (int i = 0; i < 80; i++) {
			struct uft_mapped *m;
			uint32_t r = seed = seed * 1664525u + 1013904223u;

			m = uft_image_add(img, obj[(r >> 8) % 16 < 14 ? (r >> 8) % 2 : 2], (r >> 12) % PLACES);
			m->text_start = round % 2 ? (r >> 12) % PLACES : (uint64_t)i;
			m->text_end = m->text_start + (round % 2 ? (r >> 18) % 9 : 1);
			m->from_clock = (r >> 22) % CLOCKS;
			m->to_clock = r >> 26 & 1 ? m->from_clock + (r >> 27) % 6 : 0;
		}
		ask_all(img, obj, plain);
		assert_int_equal(uft_image_index(img, &none), 0);
		ask_all(img, obj, quick);	/* without room for times: of each address as it is now */
		for (uint64_t addr = 0; addr < PLACES; addr++)
			assert_int_equal(uft_image_at(img, addr, 3), uft_image_at(img, addr, UINT64_MAX));
		assert_int_equal(uft_image_index(img, &room), 0);
		ask_all(img, obj, quick);
		assert_memory_equal(plain, quick, sizeof(plain));
		assert_true(!uft_image_overlaps(img) || room < 1u << 20);
		uft_image_free(img);
	}
	for (int i = 0; i < 3; i++)
		uft_object_put(obj[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(funcs),  cmocka_unit_test(ids),  cmocka_unit_test(identity),
		cmocka_unit_test(copies), cmocka_unit_test(symbols_stay_in_place), cmocka_unit_test(indexed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

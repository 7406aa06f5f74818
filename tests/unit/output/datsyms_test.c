/* SPDX-License-Identifier: MIT */
/*
 * datsyms_test.c - one address space for all images: images that overlap are apart, the same ones are not, and a
 * recording of many images at one place, or of many names at one address, costs about as much as it is long
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "output/datsyms.h"

#define IMAGES	30u
#define OBJECTS	4u
#define MANY	20000u		/* to look at each for each of each: 10^12 steps and more */
#define NAMES	100000u

static uint64_t state = 1;

static uint32_t draw(uint32_t below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(state >> 33) % below;
}

/* Objects are told apart by their addresses alone. */
static struct uft_object *object(uint32_t n)
{
	static char token[1u << 16];

	assert_true(n < sizeof(token));
	return (struct uft_object *)&token[n];
}

static int is_in_conflict(const struct uft_mapped *a, const struct uft_mapped *b)
{
	return a->text_start < a->text_end && b->text_start < b->text_end && a->text_start < b->text_end &&
	       b->text_start < a->text_end && !(a->obj == b->obj && a->text_start == b->text_start && a->text_end == b->text_end);
}

static int are_in_conflict(const struct uft_image *a, const struct uft_image *b)
{
	for (uint32_t i = 0; i < a->nobj; i++)
		for (uint32_t k = 0; k < b->nobj; k++)
			if (is_in_conflict(&a->obj[i], &b->obj[k]))
				return 1;
	return 0;
}

static uint64_t slot_of(struct dat_syms *syms, const struct uft_image *img, uint32_t index)
{
	struct uft_sym sym = { .index = index, .name = "f", .object = "", .addr = 0x1000 };

	return dat_syms_add(syms, img, &sym) >> 48;
}

/* Few objects in few places: many of them are the same, or overlap within their image, or have no code. */
static void overlapping(void **unused)
{
	struct uft_image img[IMAGES];
	struct uft_mapped obj[IMAGES][OBJECTS];
	uint64_t slot[IMAGES];

	(void)unused;
	for (uint32_t round = 0; round < 2000; round++) {
		const uint32_t first = draw(3);
		struct dat_syms syms;

		dat_syms_init(&syms);
		syms.first_slot = first;
		for (uint32_t i = 0; i < IMAGES; i++) {
			img[i] = (struct uft_image){ .id = i, .nobj = draw(OBJECTS + 1), .obj = obj[i] };
			for (uint32_t k = 0; k < img[i].nobj; k++) {
				uint64_t start = draw(60);

				obj[i][k] = (struct uft_mapped){ .obj = object(draw(2)), .text_start = start,
								 .text_end = start + draw(4) };
			}
			slot[i] = slot_of(&syms, &img[i], i);
			assert_true(slot[i] >= first && (i || slot[i] == first));
			for (uint32_t k = 0; k < i; k++)
				assert_false(slot[i] == slot[k] && are_in_conflict(&img[i], &img[k]));
			assert_int_equal(slot_of(&syms, &img[i], IMAGES + i), slot[i]);
		}
		assert_int_equal(slot_of(&syms, NULL, 2 * IMAGES), first);
		dat_syms_free(&syms);
	}
}

/* What readers of trace.dat see of the usual case: programs at one address are apart, what fits stays where it was. */
static void in_order(void **unused)
{
	struct uft_mapped at[3] = { { .obj = object(0), .text_start = 0x1000, .text_end = 0x2000 },
				    { .obj = object(1), .text_start = 0x1800, .text_end = 0x2800 },
				    { .obj = object(2), .text_start = 0x2000, .text_end = 0x3000 } };
	struct uft_image img[6];
	struct dat_syms syms;

	(void)unused;
	for (uint32_t i = 0; i < 6; i++)
		img[i] = (struct uft_image){ .id = i, .nobj = 1, .obj = &at[i % 3] };
	dat_syms_init(&syms);
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(slot_of(&syms, &img[i], i), i % 3 == 1);
	dat_syms_free(&syms);
}

static void many_images(void **unused)
{
	struct uft_mapped *at = calloc(MANY, sizeof(*at));
	struct uft_image *img = calloc(MANY, sizeof(*img));
	struct dat_syms syms;

	(void)unused;
	assert_true(at && img);
	dat_syms_init(&syms);
	for (uint32_t i = 0; i < MANY; i++) {
		at[i] = (struct uft_mapped){ .obj = object(i), .text_start = 0x401000, .text_end = 0x402000 };
		img[i] = (struct uft_image){ .id = i, .nobj = 1, .obj = &at[i] };
		assert_int_equal(slot_of(&syms, &img[i], i), i);
	}
	dat_syms_free(&syms);
	free(img);
	free(at);
}

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void many_names(void **unused)
{
	struct uft_sym *sym = calloc(NAMES, sizeof(*sym));
	char (*name)[16] = calloc(NAMES, sizeof(*name)), *text;
	uint64_t *addr = calloc(NAMES, sizeof(*addr));
	struct dat_syms syms;
	uint32_t lines = 0;
	size_t n;

	(void)unused;
	assert_true(sym && name && addr);
	dat_syms_init(&syms);
	for (uint32_t i = 0; i < NAMES; i++) {
		snprintf(name[i], sizeof(name[i]), "f_%u", i);
		sym[i] = (struct uft_sym){ .index = i, .name = name[i], .object = "o", .addr = 0x401000 };
		addr[i] = dat_syms_addr(&syms, NULL, &sym[i]);
	}
	qsort(addr, NAMES, sizeof(*addr), compare);
	for (uint32_t i = 1; i < NAMES; i++)
		assert_true(addr[i - 1] < addr[i]);
	text = dat_syms_text(&syms, &n);
	assert_non_null(text);
	for (const char *p = text; p < text + n; p++)
		lines += *p == '\n';
	assert_int_equal(lines, NAMES);
	free(text);
	dat_syms_free(&syms);
	free(sym);
	free(name);
	free(addr);
}

int main(void)
{
	return cmocka_run_group_tests(((const struct CMUnitTest[]){ cmocka_unit_test(overlapping), cmocka_unit_test(in_order),
		cmocka_unit_test(many_names), cmocka_unit_test(many_images) }), NULL, NULL);
}

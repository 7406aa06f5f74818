/* SPDX-License-Identifier: MIT */
/* imageview_test.c - the writer's copies of images follow the session's and hold what they name */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/imageview.h"

static void add(struct uft_image *img, struct uft_object *obj, uint32_t nstubs)
{
	struct uft_mapped *m = uft_image_add(img, obj, 0x1000u * (img->nobj + 1));

	assert_non_null(m);
	m->nstubs = nstubs;
	m->stub_addr = calloc(nstubs + 1, sizeof(uint64_t));
	m->site_addr = calloc(nstubs + 1, sizeof(uint64_t));
	for (uint32_t i = 0; i < nstubs; i++)
		m->stub_addr[i] = m->bias + i;
}

static void a_copy_follows(void **state)
{
	struct uft_object *a = uft_object_make("/a", NULL, 0), *b = uft_object_make("/b", NULL, 0);
	struct uft_image *live = uft_image_alloc(7, "/prog");
	struct imageview_update update;
	struct imageviews list = { .live = NULL };
	struct imageview *view;

	(void)state;
	add(live, a, 3);
	view = imageview_get(&list, live);
	assert_non_null(view);
	assert_ptr_equal(imageview_get(&list, live), view);
	assert_int_equal(view->copy.id, 7);
	assert_string_equal(view->copy.exe, "/prog");
	assert_int_equal(view->copy.nobj, 1);
	assert_ptr_not_equal(view->copy.obj, live->obj);
	assert_ptr_not_equal(view->copy.obj[0].stub_addr, live->obj[0].stub_addr);
	assert_int_equal(view->copy.obj[0].stub_addr[2], live->obj[0].bias + 2);
	assert_int_equal(imageview_compare(view, &update), 0);

	add(live, b, 1);
	assert_int_equal(imageview_compare(view, &update), 1);
	assert_int_equal(view->copy.nobj, 1);
	assert_int_equal(imageview_compare(view, &update), 0);
	imageview_install(&update);
	assert_int_equal(view->copy.nobj, 2);
	assert_ptr_equal(view->copy.obj[1].obj, b);
	assert_int_equal(view->copy.obj[1].stub_addr[0], live->obj[1].bias);

	live->obj[0].to_clock = 99;
	assert_int_equal(imageview_compare(view, &update), 1);
	imageview_install(&update);
	assert_int_equal(view->copy.obj[0].to_clock, 99);

	/* The session lets go first: the copies still name living objects. */
	uft_image_free(live);
	uft_object_put(b);
	assert_int_equal(b->refs, 1);
	assert_int_equal(a->refs, 2);
	imageview_free(&list);
	assert_int_equal(a->refs, 1);
	uft_object_put(a);
}

static void images_are_kept_apart(void **state)
{
	struct uft_object *a = uft_object_make("/a", NULL, 0);
	struct uft_image *one = uft_image_alloc(1, "/one"), *two = uft_image_alloc(2, "/two");
	struct imageviews list = { .live = NULL };

	(void)state;
	add(one, a, 0);
	add(two, a, 0);
	assert_ptr_not_equal(imageview_get(&list, one), imageview_get(&list, two));
	assert_string_equal(imageview_get(&list, one)->copy.exe, "/one");
	assert_string_equal(imageview_get(&list, two)->copy.exe, "/two");
	imageview_free(&list);
	uft_image_free(one);
	uft_image_free(two);
	assert_int_equal(a->refs, 1);
	uft_object_put(a);
}

/* Images that slices have are compared, once each, however many slices have one and however many images there are. */
static void those_of_slices_are_live(void **state)
{
	struct uft_image *image[2 * IMAGEVIEW_BUCKETS + 3];
	const unsigned n = sizeof(image) / sizeof(image[0]);
	struct imageviews list = { .live = NULL };

	(void)state;
	for (uint32_t i = 0; i < n; i++) {
		image[i] = uft_image_alloc(i + 1, "/prog");
		imageview_begin_slice(&list, imageview_get(&list, image[i]));
	}
	imageview_begin_slice(&list, imageview_get(&list, image[2]));
	for (uint32_t i = 0; i < n; i++)
		imageview_end_slice(&list, imageview_get(&list, image[i]));
	assert_ptr_equal(list.live, imageview_get(&list, image[2]));
	assert_null(list.live->next_live);
	imageview_end_slice(&list, list.live);
	assert_null(list.live);
	imageview_begin_slice(&list, imageview_get(&list, image[0]));	/* a fork child's, which was looked at late */
	assert_ptr_equal(list.live, imageview_get(&list, image[0]));
	imageview_free(&list);
	for (uint32_t i = 0; i < n; i++)
		uft_image_free(image[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_follows),
		cmocka_unit_test(images_are_kept_apart),
		cmocka_unit_test(those_of_slices_are_live),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

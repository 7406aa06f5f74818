/* SPDX-License-Identifier: MIT */
/* memory_test.c - the recorder is refused memory once: it forgets no task, and keeps no half of an object's hooks */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/plan/plan.h"
#include "control/ptrace/task_stop.h"

static int refuses, refuses_array;	/* the next so many requests */

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__real_reallocarray(void *p, size_t n, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size);

static int is_refused(int *of)
{
	return *of > 0 && (*of)--;
}

void *__wrap_malloc(size_t n)
{
	return is_refused(&refuses) ? NULL : __real_malloc(n);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	return is_refused(&refuses_array) ? NULL : __real_reallocarray(p, n, size);
}

static void late_tasks(void **state)
{
	const pid_t none = 1 << 30;		/* no task has such a number */

	(void)state;
	for (int i = 0; i < 100; i++) {
		refuses = i > 0 && !(i & (i - 1));
		late_task_add(none + i);
		refuses = 0;
	}
	for (int i = 0; i < 100; i++)
		assert_true(task_is_late(none + i));
	assert_int_equal(tasks_reap_late(), 0);
}

/* The hooks of libc, whose search is refused memory at first. */
static void hooks(void **state)
{
	struct space_obj o = { 0 };
	struct uft_mapped m = { 0 };
	Dl_info libc;

	(void)state;
	assert_true(dladdr((void *)(uintptr_t)fork, &libc));
	assert_int_equal(uft_object_open(libc.dli_fname, &m.obj, NULL), 0);
	uft_object_names(m.obj, NULL);
	for (int i = 1; i < 3; i++) {
		*(i == 1 ? &refuses : &refuses_array) = 1;
		assert_int_equal(hooks_find(&o, &m), -ENOMEM);
		assert_int_equal(o.nhook, 0);
	}
	assert_int_equal(refuses + refuses_array, 0);
	assert_int_equal(hooks_find(&o, &m), 0);
	assert_true(o.nhook > 0);
	free(o.hook);
	uft_object_put(m.obj);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(late_tasks), cmocka_unit_test(hooks) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

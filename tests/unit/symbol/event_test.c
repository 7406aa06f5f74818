/* SPDX-License-Identifier: MIT */
/*
 * event_test.c - the table of event types: many of them, the same one twice, formats that are none, and the
 * texts that print formats make
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbol/event_set.h"
#include "symbol/event_type.h"
#include "symbol/print_format.h"

#define COMMON								\
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"	\
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"	\
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define NTYPES	10000u
#define NOBJECTS	300000u		/* each compared with all others would take minutes */

static const struct uft_event_type *add_of(struct uft_event_table *t, uint32_t owner, const char *system,
					   const char *name, const char *fields, const char *print)
{
	const struct uft_event_type *type = NULL;
	struct uft_error err = { "" };
	char *text;

	assert_true(asprintf(&text, "name: %s\nID: 0\nformat:\n" COMMON "%s\nprint fmt: %s\n", name, fields, print) >
		    0);
	if (uft_event_table_add(t, owner, system, text, &type, &err))
		print_message("%s\n", err.text);
	free(text);
	return type;
}

static const struct uft_event_type *add(struct uft_event_table *t, const char *name, const char *fields,
					const char *print)
{
	return add_of(t, UFT_OWNER_OURS, "test", name, fields, print);
}

static void types_keep_their_numbers(void **state)
{
	struct uft_event_table *t = uft_event_table_new();
	const struct uft_event_type *type;
	char name[32];

	(void)state;
	for (uint32_t i = 0; i < NTYPES; i++) {
		snprintf(name, sizeof(name), "event_%u", i);
		type = add(t, name, "\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n", "\"a=%d\", REC->a");
		assert_non_null(type);
		assert_int_equal(type->index, UFT_NBUILTINS + i);
		assert_ptr_equal(uft_event_table_by_id(t, type->id), type);
	}
	assert_int_equal(uft_event_table_count(t), UFT_NBUILTINS + NTYPES);
	type = uft_event_table_find(t, "test", 4, "event_9999", 10);
	assert_int_equal(type->bytes, 12);
	snprintf(name, sizeof(name), "ID: %u\n", type->kernel_id);
	assert_non_null(strstr(type->format, name));
	assert_ptr_equal(add(t, "event_7", "\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n", "\"a=%d\", REC->a"),
			 uft_event_table_at(t, UFT_NBUILTINS + 7));
	assert_null(add(t, "event_7", "\tfield:int b;\toffset:8;\tsize:4;\tsigned:1;\n", "\"b=%d\", REC->b"));
	assert_int_equal(uft_event_table_count(t), UFT_NBUILTINS + NTYPES);
	assert_int_equal(uft_event_table_members(t, type->system_index), NTYPES);
	for (uint32_t i = 0; i < NTYPES; i++) {
		snprintf(name, sizeof(name), "event_%u", i);
		type = uft_event_table_find(t, "test", 4, name, strlen(name));
		assert_ptr_equal(type, uft_event_table_at(t, UFT_NBUILTINS + i));
		assert_int_equal(uft_event_table_member(t, type->system_index, i), type->index);
	}
	assert_null(uft_event_table_find(t, "test", 4, "event_10000", 11));
	assert_null(uft_event_table_find(t, "tes", 3, "event_1", 7));
	uft_event_table_put(t);
}

/* The type of marks is in no list, and no name finds it: it takes no place of others. */
static void print_type(void **state)
{
	struct uft_event_table *t = uft_event_table_new();
	const struct uft_event_type *print = uft_event_table_at(t, UFT_EVENT_PRINT);

	(void)state;
	assert_int_equal(print->index, UFT_EVENT_PRINT);
	assert_int_equal(print->kernel_id, 5);
	assert_int_equal(print->bytes, 16);
	assert_int_equal(uft_event_table_count(t), UFT_NBUILTINS);
	assert_null(uft_event_table_find(t, "ftrace", 6, "print", 5));
	assert_int_equal(uft_event_table_find_system(t, "ftrace", 6), UINT32_MAX);
	assert_int_equal(uft_event_table_systems(t), 1);
	uft_event_table_put(t);
}

static int matches(const char *word, const struct uft_event_type *type)
{
	return uft_event_matches(word, strlen(word), type);
}

static void objects(void **state)
{
	struct uft_event_table *t = uft_event_table_new();
	const struct uft_event_type *type = add(t, "one", "", "\"\"");

	(void)state;
	assert_false(matches(":mod:*", type));
	assert_int_equal(uft_event_table_note_object(t, UFT_OWNER_OURS, type, "libone.so"), 0);
	assert_int_equal(uft_event_table_note_object(t, UFT_OWNER_OURS, type, "prog"), 0);
	assert_int_equal(uft_event_table_note_object(t, UFT_OWNER_OURS, type, "prog"), 0);
	assert_null(type->object->next->next);
	assert_true(matches("one:mod:prog", type) && matches("test:*:mod:lib*", type) && matches(":mod:prog", type) &&
		    matches("*:one:mod:prog", type));
	assert_false(matches("one:mod:pro", type) || matches("two:mod:prog", type) ||
		     matches("test:two:mod:prog", type));
	uft_event_table_put(t);
}

/* A recording that describes one number in many ways: the last counts, and memory stays in proportion. */
static void replaced(void **state)
{
	struct uft_event_table *t = uft_event_table_new();
	struct uft_error err;
	char text[600], name[32];

	(void)state;
	for (uint32_t i = 0; i < 3000; i++) {
		snprintf(text, sizeof(text), "name: r_%u\nID: 2000\nformat:\n" COMMON "\nprint fmt: \"\"\n", i);
		assert_int_equal(uft_event_table_set(t, UFT_EVENT_FREE + UFT_NBUILTINS, "test", text, &err), 0);
	}
	for (uint32_t i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "r_%u", i);
		assert_int_equal(uft_event_table_find(t, "test", 4, name, strlen(name)) != NULL, i == 2999);
	}
	assert_int_equal(uft_event_table_members(t, uft_event_table_at(t, UFT_NBUILTINS)->system_index), 1);
	uft_event_table_put(t);
}

static void formats(void **state)
{
	static const char *const bad[] = {
		"\tfield:int a;\toffset:8;\tsize:4;\n",				/* not whole */
		"\tfield:int a;\toffset:4;\tsize:4;\tsigned:1;\n",		/* among the common ones */
		"\tfield:int a;\toffset:999999999;\tsize:4;\tsigned:1;\n",
		"\tfield:int a;\toffset:8;\tsize:4294967295;\tsigned:1;\n",
		"\tfield:int;\toffset:8;\tsize:4;\tsigned:1;\n",
		"\tfield:__data_loc char[] a;\toffset:8;\tsize:2;\tsigned:1;\n",
		"\tfield:int a[;\toffset:8;\tsize:4;\tsigned:1;\n\n",
		"field:int a;\toffset:8;\tsize:4;\tsigned:1;\n",
	};
	struct uft_event_table *t = uft_event_table_new();
	const struct uft_event_type *type;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_null(add(t, "bad", bad[i], "\"\""));
	/* of more elements than bytes, and than 32 bits hold */
	type = add(t, "many", "\tfield:int a[4294967296];\toffset:8;\tsize:4;\tsigned:1;\n", "\"%d\", REC->a[0]");
	assert_non_null(type);
	assert_int_equal(type->field[0].element, 0);
	assert_null(add(t, "bad name", "", "\"\""));
	assert_non_null(add(t, "none", "", "\"\""));
	uft_event_table_put(t);
}

struct record {
	int32_t n;
	uint32_t flags;
	char comm[16];
	uint64_t addr;
	uint32_t text, numbers;
	uint8_t behind[24];
};
#define FIELDS									\
	"\tfield:int n;\toffset:8;\tsize:4;\tsigned:1;\n"			\
	"\tfield:unsigned int flags;\toffset:12;\tsize:4;\tsigned:0;\n"	\
	"\tfield:char comm[16];\toffset:16;\tsize:16;\tsigned:1;\n"		\
	"\tfield:u64 addr;\toffset:32;\tsize:8;\tsigned:0;\n"			\
	"\tfield:__data_loc char[] text;\toffset:40;\tsize:4;\tsigned:1;\n"	\
	"\tfield:__data_loc int[] numbers;\toffset:44;\tsize:4;\tsigned:1;\n"

static void print_formats_make_texts(void **state)
{
	static const struct { const char *print, *text; } cases[] = {
		{ "\"n=%d u=%u x=%08x comm=%s|%-8s|%.2s\", REC->n, REC->flags, REC->flags, REC->comm, REC->comm, REC->comm",
		  "n=-2 u=5 x=00000005 comm=name|name    |na" },
		{ "\"%s %s\" \" %%\", __get_str(text), REC->n < 0 ? \"less\" : \"more\"", "hello less %" },
		{ "\"%s\", __print_symbolic(REC->n, { 1, \"one\" }, { -2, \"two\" })", "two" },
		{ "\"%s %s\", __print_symbolic(REC->flags, { 1, \"one\" }), __print_flags(REC->flags, \"|\", { 1, \"A\" }, { 2, \"B\" })",
			"0x5 A|0x4" },
		{ "\"%s\", __print_array(__get_dynamic_array(numbers), __get_dynamic_array_len(numbers) / sizeof(int), sizeof(int))",
			"{0x1,0x2,0xffffffff}" },
		{ "\"%s\", __print_hex(REC->comm, 4)", "6e 61 6d 65" },
		/* a text that is made for a key has no room beside the one that it is a key of */
		{ "\"%s\", __print_flags(REC->flags, \"|\", { 1, \"first\" }, { 4 + 0 * __print_hex_str(REC->comm, 4), \"last\" })",
			"first|last" },
		{ "\"%llx %lu %d\", (unsigned long long)REC->addr, (unsigned long)(REC->addr >> 32) & 0xff, (int)REC->addr",
			"1ffffffff 1 -1" },
		{ "\"%d\", 7 / (REC->n + 2)", "0" },
		{ "\"%d %c\", REC->comm[1], REC->comm[0]", "97 n" },
		/* quotes of the format's own, as TP_printk() leaves them */
		{ "\"n=%d comm=\"%s\"\", REC->n, REC->comm", "n=-2 comm=\"name\"" },
		{ "\"a=\"%d\", b=\"%s\"\" , REC->n, __get_str(text)", "a=\"-2\", b=\"hello\"" },
		{ "\"a \"quoted\" word\"", "a \"quoted\" word" },
		{ "\"%d\", (1 + 2) * 3 - 10 % 4 == 7 && !0", "1" },
	};
	static const char *const bad[] = {
		"",   "\"%d\", REC->nosuch", "\"%d\", nosuch(1)", "\"%d\", REC->n +",
		"\"", "\"%d\", ((((",	     "\"a\" b",		  "\"a \"%d\"\", nosuch(1)"
	};
	struct uft_event_table *t = uft_event_table_new();
	struct record r = { .n = -2, .flags = 5, .comm = "name", .addr = 0x1ffffffffull, .text = 6 << 16 | 48,
		.numbers = 12 << 16 | 56 };
	struct uft_print_input in = { .payload = (const uint8_t *)&r, .bytes = sizeof(r) };
	char name[32], out[256];

	(void)state;
	memcpy(r.behind, "hello", 6);
	memcpy(r.behind + 8, (int32_t[]){ 1, 2, -1 }, 12);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct uft_event_type *type;
		size_t n;

		snprintf(name, sizeof(name), "text_%zu", i);
		type = add(t, name, FIELDS, cases[i].print);
		assert_non_null(type);
		assert_non_null(type->text);
		n = uft_print_event(type->text, &in, out, sizeof(out) - 1);
		out[n] = '\0';
		assert_string_equal(out, cases[i].text);
		for (in.bytes = 0; in.bytes < sizeof(r); in.bytes++)	/* what is cut off is not read */
			uft_print_event(type->text, &in, out, sizeof(out));
		assert_true(uft_print_event(type->text, &in, out, 1) == 1);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(name, sizeof(name), "bad_%zu", i);
		assert_null(add(t, name, FIELDS, bad[i])->text);
	}
	uft_event_table_put(t);
}

/* A text of @n bytes @c in quotes. */
static char *quoted(char c, size_t n)
{
	char *text = malloc(n + 3);

	assert_non_null(text);
	memset(text, c, n + 2);
	text[0] = text[n + 1] = '"';
	text[n + 2] = '\0';
	return text;
}

/* Texts of helpers within a text that is being made: all of them together have the room of one event. */
static void nested(void **state)
{
	struct uft_event_table *t = uft_event_table_new();
	struct record r = { .n = -2, .flags = 1 };
	struct uft_print_input in = { .payload = (const uint8_t *)&r, .bytes = sizeof(r) };
	char *long_key = quoted('D', 5000), *long_text = quoted('y', 8000), *print, out[64];
	static const char *const form[] = {
		"\"%%d\", __print_symbolic(REC->n, { __print_hex_str(%s, 5000), \"x\" }, { -2, %s }) + __print_hex_str(%s, 5000)",
		"\"%%d\", __print_flags(REC->flags, \"\", { 2 * __print_hex_str(%s, 5000), \"\" }, { 1, %s }) + __print_hex_str(%s, 5000)",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(form) / sizeof(form[0]); i++) {
		const struct uft_event_type *type;
		char name[16];
		size_t n;

		snprintf(name, sizeof(name), "nested_%zu", i);
		assert_true(asprintf(&print, form[i], long_key, long_text, long_key) > 0);
		type = add(t, name, FIELDS, print);
		assert_non_null(type->text);
		n = uft_print_event(type->text, &in, out, sizeof(out) - 1);
		out[n] = '\0';
		assert_int_equal(atoi(out), 'y' + '4');
		free(print);
	}
	free(long_key);
	free(long_text);
	uft_event_table_put(t);
}

/* More blanks than there is room for are not written one by one: without the bound this takes minutes. */
static void blanks_are_bounded(void **state)
{
	struct uft_event_table *t = uft_event_table_new();
	char print[64 * 32] = "\"", out[256];
	const struct uft_event_type *type;
	struct record r = { .n = 1 };
	struct uft_print_input in = { .payload = (const uint8_t *)&r, .bytes = sizeof(r) };

	(void)state;
	for (int i = 0; i < 64; i++)
		strcat(print, i % 2 ? "%-*s" : "%*s");
	strcat(print, "\"");
	for (int i = 0; i < 64; i++)
		strcat(print, ", 2147483647, \"a\"");
	type = add(t, "wide", FIELDS, print);
	assert_non_null(type->text);
	assert_int_equal(uft_print_event(type->text, &in, out, sizeof(out)), sizeof(out));
	assert_true(out[0] == ' ' && out[sizeof(out) - 1] == ' ');
	uft_event_table_put(t);
}

/* @n copies of @part behind @to. */
static char *put_copies(char *to, const char *part, size_t n)
{
	while (n--)
		to = stpcpy(to, part);
	return to;
}

static const struct uft_event_type *add_numbered(struct uft_event_table *t, uint32_t i, const char *print)
{
	char name[32];

	snprintf(name, sizeof(name), "numbered_%u", i);
	return add(t, name, FIELDS, print);
}

/* Compiled formats cost what they are long, each and all together; beyond that types are kept without. */
static void formats_cost_their_length(void **state)
{
	struct uft_event_table *t = uft_event_table_new();
	char *print = malloc(64u << 10), *to;
	const struct uft_event_type *type;
	uint32_t n = 0;
	size_t each;

	(void)state;
	assert_non_null(print);
	to = put_copies(stpcpy(print, "\"%s\", __print_symbolic(REC->n"), ",{2,\"\"}", 2000);
	strcpy(put_copies(stpcpy(to, ", { 1, \""), "z", 40000), "\" })");
	type = add_numbered(t, 0, print);
	assert_non_null(type->text);
	assert_true(uft_print_bytes(type->text) < 512u << 10);
	strcpy(put_copies(stpcpy(print, "\"%d\", 1"), "+1", 2000), "");
	type = add_numbered(t, 1, print);
	assert_non_null(type->text);
	each = uft_print_bytes(type->text);
	for (n = 2; type && type->text && n < 10000; n++)
		type = add_numbered(t, n, print);
	assert_non_null(type);
	assert_null(type->text);
	assert_true(each * n < 300u << 20);
	assert_non_null(add(t, "last", FIELDS, "\"\""));
	free(print);
	uft_event_table_put(t);
}

/* Objects of ever other names. */
static void many_objects(void **state)
{
	struct uft_event_table *t = uft_event_table_new();
	const struct uft_event_type **type = calloc(NTYPES, sizeof(*type));
	char name[256];
	uint32_t n;
	int ret = 0;

	(void)state;
	assert_non_null(type);
	for (uint32_t i = 0; i < NTYPES; i++)
		type[i] = add_numbered(t, i, "\"\"");
	for (n = 0; !ret && n < 1000; n++) {
		snprintf(name, sizeof(name), "%0250u", n);
		for (uint32_t i = 0; !ret && i < NTYPES; i++)
			ret = uft_event_table_note_object(t, UFT_OWNER_OURS, type[i], name);
	}
	assert_int_equal(ret, -ENOSPC);
	assert_true(n > 16);
	free(type);
	uft_event_table_put(t);
}

/* A type that as many objects declare as there is room for: each is there once, and looked for among few. */
static void many_objects_of_one(void **state)
{
	struct uft_event_table *t = uft_event_table_new();
	const struct uft_event_type *type = add_numbered(t, 0, "\"\"");
	uint32_t n = 0;
	char name[32];

	(void)state;
	for (unsigned k = 0; k < 2; k++)
		for (uint32_t i = 0; i < NOBJECTS; i++) {
			snprintf(name, sizeof(name), "lib%u.so", i);
			assert_int_equal(uft_event_table_note_object(t, UFT_OWNER_OURS, type, name), 0);
		}
	for (const struct uft_event_object *o = type->object; o; o = o->next)
		n++;
	assert_int_equal(n, NOBJECTS);
	uft_event_table_put(t);
}

/* Three users declare one name with other fields, one of them also the name that another one's would get. */
static void users_get_types_of_their_own(void **state)
{
	struct uft_event_table *t = uft_event_table_new();
	const char *a = "\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n",
		   *b = "\tfield:int b;\toffset:8;\tsize:4;\tsigned:1;\n",
		   *c = "\tfield:int c;\toffset:8;\tsize:4;\tsigned:1;\n";
	const struct uft_event_type *first = add_of(t, 1001, "app", "tick", a, "\"\""), *numbered, *other, *ours;

	(void)state;
	numbered = add_of(t, 1001, "app", "tick_0x0", a, "\"\"");
	other = add_of(t, 1002, "app", "tick", b, "\"\"");
	ours = add_of(t, UFT_OWNER_OURS, "app", "tick", c, "\"\"");
	assert_true(first && numbered && other && ours);
	assert_string_equal(first->name, "tick");
	assert_string_equal(other->name, "tick_0x1");
	assert_string_equal(ours->name, "tick_0x2");
	assert_non_null(strstr(other->format, "name: tick_0x1\nID: "));
	assert_string_equal(other->field[other->nfields - 1].name, "b");
	/* the same is the same, whoever declares it */
	assert_ptr_equal(add_of(t, 1003, "app", "tick", b, "\"\""), other);
	assert_ptr_equal(uft_event_table_find(t, "app", 3, "tick_0x2", 8), ours);
	assert_null(add_of(t, 1002, "app", "tick", c, "\"other text\""));
	assert_true(matches("app:tick", other) && matches("tick", ours) && matches("app:tick_0x1", other));
	assert_false(matches("app:tick_0x0", other) || matches("app:tick_0x", other) || matches("tic", other));
	uft_event_table_put(t);
}

/* A user who has many numbers cannot have others look at a name for each of them. */
static void many_owners(void **state)
{
	struct uft_event_table *t = uft_event_table_new();
	char field[80];
	uint32_t n = 0;

	(void)state;
	for (uint32_t i = 0; i < 300; i++) {
		snprintf(field, sizeof(field), "\tfield:int of_%u;\toffset:8;\tsize:4;\tsigned:1;\n", i);
		n += add_of(t, 2000 + i, "app", "tick", field, "\"\"") != NULL;
	}
	assert_int_equal(n, 65);
	assert_non_null(add_of(t, 3000, "app", "tock", field, "\"\""));
	uft_event_table_put(t);
}

/* Types leave their systems in any order: the others are all found, as are the systems. */
static void types_leave_in_any_order(void **state)
{
	struct uft_event_table *t = uft_event_table_new();
	uint32_t index[40], left = 40, at[2];
	char name[32];

	(void)state;
	for (uint32_t i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "e_%u", i);
		index[i] = add_of(t, UFT_OWNER_OURS, i % 2 ? "odd" : "even", name, "", "\"\"")->index;
	}
	at[0] = uft_event_table_find_system(t, "even", 4);
	at[1] = uft_event_table_find_system(t, "odd", 3);
	assert_string_equal(uft_event_table_system(t, at[0]), "even");
	assert_string_equal(uft_event_table_system(t, at[1]), "odd");
	assert_int_equal(uft_event_table_find_system(t, "eve", 3), UINT32_MAX);
	for (uint32_t i = 0; left; i = (i + 7) % 40) {
		uint32_t n = 0;

		uft_event_table_remove(t, index[i]);
		left--;
		for (uint32_t s = 0; s < 2; s++)
			for (uint32_t k = 0; k < uft_event_table_members(t, at[s]); k++) {
				const uint32_t member = uft_event_table_member(t, at[s], k);

				assert_int_equal(uft_event_table_at(t, member)->system_index, at[s]);
				n++;
			}
		assert_int_equal(n, left);
	}
	uft_event_table_put(t);
}

/* A type that was removed, and then replaced, has left its system once. */
static void removed_and_replaced(void **state)
{
	struct uft_event_table *t = uft_event_table_new();
	const struct uft_event_type *a = add_of(t, UFT_OWNER_OURS, "app", "a", "", "\"\""),
		*b = add_of(t, UFT_OWNER_OURS, "app", "b", "", "\"\""), *of_b;
	uint32_t system = uft_event_table_find_system(t, "app", 3);
	char *text = strdup(b->format);

	(void)state;
	uft_event_table_remove(t, a->index);
	assert_int_equal(uft_event_table_members(t, system), 1);
	assert_int_equal(uft_event_table_set(t, a->id, "other", text, NULL), 0);
	assert_int_equal(uft_event_table_members(t, system), 1);
	of_b = uft_event_table_at(t, uft_event_table_member(t, system, 0));
	assert_ptr_equal(of_b, b);
	free(text);
	uft_event_table_put(t);
}

/* How many types a user gets, each of a system of its own or all of one. */
static uint32_t fill(struct uft_event_table *t, uint32_t owner, int has_systems)
{
	char name[32];

	for (uint32_t i = 0;; i++) {
		snprintf(name, sizeof(name), "of_%u_%u", owner, i);
		if (!add_of(t, owner, has_systems ? name : "many", name, "", "\"\""))
			return i;
	}
}

static void users_share_the_room(void **state)
{
	struct uft_event_table *t = uft_event_table_new();
	const uint32_t left = 4096 - 2, all = UFT_EVENT_TYPES_MAX - UFT_NBUILTINS - 1;
	uint32_t second;

	(void)state;
	assert_non_null(add_of(t, UFT_OWNER_OURS, "many", "first", "", "\"\""));
	assert_int_equal(fill(t, 1001, 1), left / 2);
	second = fill(t, 1002, 1);
	assert_int_equal(second, (left - left / 2) / 2);
	assert_non_null(add_of(t, 1003, "one_more", "one", "", "\"\""));
	assert_int_equal(left / 2 + fill(t, 1001, 0), (all - second - 1) / 2);
	assert_true(fill(t, 1003, 0) > all / 8);
	assert_non_null(add(t, "ours", "", "\"\""));
	uft_event_table_put(t);
}

static void sets_of_events(void **state)
{
	struct uft_event_set a = { NULL, 0 }, b = { NULL, 0 };

	(void)state;
	assert_true(uft_event_set_is_empty(&a));
	assert_int_equal(uft_event_set_change(&a, 9999, 1), 0);
	assert_int_equal(uft_event_set_change(&b, 3, 1), 0);
	assert_false(uft_event_set_equal(&a, &b));
	assert_int_equal(uft_event_set_add(&b, &a), 0);
	assert_true(uft_event_set_has(&b, 9999) && uft_event_set_has(&b, 3) && !uft_event_set_has(&b, 4));
	uft_event_set_remove(&b, &a);
	assert_true(uft_event_set_has(&b, 3) && !uft_event_set_has(&b, 9999));
	uft_event_set_free(&a);
	uft_event_set_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types_keep_their_numbers),	   cmocka_unit_test(print_type), cmocka_unit_test(objects),
		cmocka_unit_test(replaced),
		cmocka_unit_test(formats), cmocka_unit_test(print_formats_make_texts),   cmocka_unit_test(sets_of_events),
		cmocka_unit_test(nested),  cmocka_unit_test(blanks_are_bounded),    cmocka_unit_test(formats_cost_their_length),
		cmocka_unit_test(many_objects), cmocka_unit_test(many_objects_of_one), cmocka_unit_test(users_get_types_of_their_own),
		cmocka_unit_test(users_share_the_room),
		cmocka_unit_test(many_owners), cmocka_unit_test(types_leave_in_any_order),
		cmocka_unit_test(removed_and_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

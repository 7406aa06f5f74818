/* SPDX-License-Identifier: MIT */
/*
 * target.c - filters and programs: any text is refused or becomes a program that passes the check; any bytes that pass the check
 * can be run on any record, of whose bytes and the program's own nothing more is read (both have their exact size here)
 *
 * The input is 32 bytes of changes, 32 bytes of a record, and a filter.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "program/quick.h"
#include "symbol/event_filter.h"

#define CHANGES	32u
#define RECORD	32u

#define FIELD(field_name, field_type, ...) \
	{ .name = field_name, .type = field_type, .brackets = "", __VA_ARGS__ }
static struct uft_event_field fields[] = {
	FIELD("a", "u8", .offset = 8, .size = 1), FIELD("b", "s16", .offset = 10, .size = 2, .is_signed = 1),
	FIELD("c", "int", .offset = 12, .size = 4, .is_signed = 1),
	FIELD("d", "u64", .offset = 16, .size = 8),
	FIELD("s", "char", .offset = 24, .size = 8, .is_array = 1, .is_string = 1),
	FIELD("t", "__data_loc char[]", .offset = 32, .size = 4, .place = UFT_FIELD_DATA_LOC, .is_array = 1,
	      .is_string = 1),
	FIELD("r", "__rel_loc char[]", .offset = 36, .size = 4, .place = UFT_FIELD_REL_LOC, .is_array = 1,
	      .is_string = 1),
	FIELD("m", "__data_loc cpumask_t", .offset = 32, .size = 4, .place = UFT_FIELD_DATA_LOC, .is_array = 1),
	FIELD("w", "cpumask_t", .offset = 16, .size = 8), FIELD("odd", "struct x", .offset = 9, .size = 3),
};
static const struct uft_event_type type = {
	.system = "x", .name = "y", .field = fields, .nfields = sizeof(fields) / sizeof(fields[0]), .kernel_id = 7
};

static int is_in_function(const struct uft_record *r, uint64_t address, const char *function)
{
	(void)r;
	return strlen(function) == address % 8;
}

/*
 * Quick steps, where there are any, read no more than the bytes that they need, deep ones no more than the
 * record, and have the program's @answer.
 */
static void run_quick(const struct uft_program *p, const struct uft_record *r, int answer)
{
	struct uft_quick_step quick[UFT_QUICK_STEPS];
	uint32_t need = 0;
	uint8_t *exact;

	if (!uft_quick_append(p, 1, quick, 0, &need, p) || (need & ~UFT_QUICK_DEEP) > r->bytes)
		return;
	if (uft_quick_run_deep(quick, 0, r, p) != answer ||
	    uft_quick_run_deep(quick, uft_quick_ask_thread(quick, r, p), r, p) != answer)
		abort();
	if (need & UFT_QUICK_DEEP)
		return;
	exact = malloc(need ? need : 1);
	memcpy(exact, r->payload, need);
	if (uft_quick_run(quick, exact) != answer)
		abort();
	free(exact);
}

/* Once with all facts and once with none. */
static void run(const struct uft_program *p, const uint8_t *record, size_t size)
{
	uint8_t *exact = malloc(size ? size : 1);
	struct uft_record r = {
		.payload = exact, .bytes = (uint32_t)size, .known = UFT_FACT_TID | UFT_FACT_CPU | UFT_FACT_COMM |
			UFT_FACT_FUNCTION, .tid = 7, .cpu = 1, .comm = "abc",
		.is_in_function = is_in_function,
	};
	int answer;

	memcpy(exact, record, size);
	answer = uft_program_run(p, &r);
	if (answer != uft_program_run(p, &r) || (answer != 0 && answer != 1))
		abort();
	run_quick(p, &r, answer);
	r = (struct uft_record){ .payload = exact, .bytes = (uint32_t)size };
	uft_program_run(p, &r);
	free(exact);
}

static void try_bytes(const void *bytes, size_t size, const uint8_t *record, size_t record_size)
{
	void *exact = aligned_alloc(8, (size + 8) & ~(size_t)7);
	uint32_t its;

	memcpy(exact, bytes, size);
	if (uft_program_is_good(exact, size)) {
		memcpy(&its, exact, 4);
		if (its < size) {		/* of the exact size again */
			try_bytes(bytes, its, record, record_size);
		} else {
			run(exact, record, record_size);
		}
	}
	free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct uft_filter_error err;
	struct uft_program *p;
	char text[4200];
	uint32_t its;
	size_t n = size > CHANGES + RECORD ? size - CHANGES - RECORD : 0;

	if (!n)
		return 0;
	n = n < sizeof(text) ? n : sizeof(text) - 1;
	memcpy(text, data + CHANGES + RECORD, n);
	text[n] = '\0';
	n = strlen(text);
	if (uft_event_filter_make(&type, text, &p, &err)) {
		if (p || !err.what || err.at > n + 1)
			abort();
	} else {
		if (!uft_program_is_good(p, p->bytes))
			abort();
		run(p, data + CHANGES, data[0] % (RECORD + 1));
		its = p->bytes;
		for (unsigned i = 0; i < CHANGES / 2; i++) {
			((uint8_t *)p)[data[2 * i] % its] = data[2 * i + 1];
			try_bytes(p, its, data + CHANGES, RECORD);
		}
		free(p);
	}
	try_bytes(data, size, data, size < 2040 ? size : 2040);
	return 0;
}

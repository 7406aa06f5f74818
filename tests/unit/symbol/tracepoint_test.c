/* SPDX-License-Identifier: MIT */
/*
 * tracepoint_test.c - PROGRAM: its tracepoints are found as they were declared; with any bytes of their sections changed, each event is
 * either refused or one whose format parses, and no address lies outside the file's segments
 */
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "symbol/event_type.h"
#include "symbol/tracepoint.h"

#define ROUNDS	3000

static const char *program;

static uint8_t *read_file(size_t *n)
{
	FILE *f = fopen(program, "rb");
	uint8_t *p;

	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	*n = (size_t)ftell(f);
	rewind(f);
	p = malloc(*n);
	assert_int_equal(fread(p, 1, *n, f), *n);
	fclose(f);
	return p;
}

/* The sections' places in the file. */
static size_t find_sections(const uint8_t *p, Elf64_Shdr out[8])
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)p;
	const Elf64_Shdr *sh = (const Elf64_Shdr *)(p + eh->e_shoff);
	const char *names = (const char *)p + sh[eh->e_shstrndx].sh_offset;
	size_t n = 0;

	for (int i = 0; i < eh->e_shnum && n < 8; i++)
		if (!strncmp(names + sh[i].sh_name, "__uft_", 6))
			out[n++] = sh[i];
	return n;
}

static struct uft_found_events parse(const uint8_t *p, size_t n)
{
	char path[] = "/tmp/uft-tracepoint-XXXXXX";
	struct uft_found_events found;
	struct uft_object *obj;
	int fd = mkstemp(path);

	assert_int_equal(write(fd, p, n), (ssize_t)n);
	close(fd);
	assert_int_equal(uft_object_open(path, &obj, NULL), 0);
	unlink(path);
	assert_int_equal(uft_object_events(obj, &found), 0);
	uft_object_put(obj);
	return found;
}

static void declared(void **state)
{
	size_t n;
	uint8_t *p = read_file(&n);
	struct uft_found_events found = parse(p, n);
	const struct uft_found_event *e = NULL;

	(void)state;
	assert_int_equal(found.nrefused, 0);
	assert_int_equal(found.nevents, 5);
	assert_int_equal(found.nsites, 7);
	for (uint32_t i = 0; i < found.nevents; i++)
		e = strcmp(found.event[i].name, "sample_two") ? e : &found.event[i];
	assert_non_null(e);
	assert_string_equal(e->system, "uft_sample");
	assert_non_null(strstr(e->format,
		"\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n\tfield:struct sample_point at;\toffset:12;\tsize:8;\tsigned:0;\n"
					  "\nprint fmt: \"two=0x%02x\", REC->a\n"));
	uft_found_events_free(&found);
	free(p);
}

static void hostile(void **state)
{
	Elf64_Shdr section[8];
	size_t n, nsections, refused = 0;
	uint8_t *p = read_file(&n), *copy = malloc(n);
	unsigned seed = 1;

	(void)state;
	nsections = find_sections(p, section);
	assert_int_equal(nsections, 5);
	for (int i = 0; i < ROUNDS; i++) {
		struct uft_found_events found;

		memcpy(copy, p, n);
		for (int k = 1 + rand_r(&seed) % 4; k; k--) {
			const Elf64_Shdr *s = &section[(size_t)rand_r(&seed) % nsections];
			uint8_t *at = copy + s->sh_offset + (size_t)rand_r(&seed) % s->sh_size;

			*at = rand_r(&seed) % 3 ? (uint8_t)rand_r(&seed) : rand_r(&seed) & 1 ? 0xff : 0;
		}
		found = parse(copy, n);
		refused += found.nrefused != 0;
		for (uint32_t k = 0; k < found.nevents; k++) {
			struct uft_event_table *t = uft_event_table_new();
			const struct uft_event_type *type;
			struct uft_error err;

			/* or it is refused */
			uft_event_table_add(t, UFT_OWNER_OURS, found.event[k].system, found.event[k].format, &type,
					    &err);
			uft_event_table_put(t);
		}
		for (uint32_t k = 0; k < found.nsites; k++)
			assert_true(found.site[k].event < found.nevents && found.site[k].addr < n &&
				    found.site[k].on < n);
		uft_found_events_free(&found);
	}
	assert_true(refused > ROUNDS / 20);
	free(copy);
	free(p);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(declared), cmocka_unit_test(hostile) };

	program = argc > 1 ? argv[1] : argv[0];
	return cmocka_run_group_tests(tests, NULL, NULL);
}

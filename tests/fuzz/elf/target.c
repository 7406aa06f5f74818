/* SPDX-License-Identifier: MIT */
/*
 * target.c - what a fuzzer does with bytes that claim to be an ELF file or an archive
 *
 * Everything that symbol/ offers for files, on one input: open, sites, names, every kind of lookup, tracepoints. The
 * input is copied to memory of its exact size, so that the address sanitizer sees a read past its end. What comes out
 * is checked for the promises of object.h: sorted, within the text, lengths as the runtime may use them.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>

#include "symbol/names.h"
#include "symbol/object_internal.h"
#include "symbol/tracepoint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(c) do { if (!(c)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #c); abort(); } } while (0)

static void look_up(struct uft_object *obj)
{
	uint8_t buf[64];
	uint64_t size;
	size_t i;

	for (i = 0; i < obj->nfunc; i += 1 + obj->nfunc / 64) {
		char *name = obj->func[i].name ? uft_demangle(obj->func[i].name) : NULL;

		free(name);
		uft_object_func(obj, obj->func[i].addr + obj->func[i].size / 2);
		uft_object_plt(obj, obj->func[i].addr);
		uft_object_reloc(obj, obj->func[i].addr, 64);
		uft_object_read(obj, obj->func[i].addr, buf, sizeof(buf));
	}
	uft_object_read(obj, obj->entry, buf, sizeof(buf));
	uft_object_read(obj, ~0ull - 8, buf, sizeof(buf));
	uft_object_symbol(obj, "main", &size);
	uft_object_is_init(obj, obj->entry);
	uft_object_func(obj, ~0ull);
}

static void no_event(void *arg, const char *text)
{
	CHECK(text[0]);
	++*(uint32_t *)arg;
}

/* The tracepoints that an object declares become event types of a table. */
static void take_events(struct uft_object *obj)
{
	struct uft_event_table *t = uft_event_table_new();
	const struct uft_event_type **type;
	struct uft_found_events f;
	uint32_t refused = 0;

	CHECK(t && !uft_object_events(obj, &f));
	type = calloc(f.nevents + 1, sizeof(*type));
	CHECK(type && !uft_found_events_add(t, obj, &f, type, no_event, &refused));
	for (uint32_t i = 0; i < f.nevents; i++) {
		CHECK(type[i] ? type[i]->system[0] && type[i]->name[0] : refused);
		CHECK(!type[i] || uft_event_table_at(t, type[i]->index) == type[i]);
	}
	for (uint32_t i = 0; i < f.nsites; i++)
		CHECK(f.site[i].event < f.nevents && (!i || f.site[i - 1].addr <= f.site[i].addr));
	free(type);
	uft_found_events_free(&f);
	uft_event_table_put(t);
}

static int try_object(void *arg, struct uft_object *obj)
{
	struct uft_error err = { "" };
	size_t i;

	(void)arg;
	if (uft_object_sites(obj, &err)) {
		CHECK(obj->type == ET_REL && obj->machine != EM_X86_64);	/* not looked at */
		return 0;
	}
	CHECK(!uft_object_names(obj, &err));
	for (i = 0; i < obj->nsite; i++) {
		const struct uft_site *s = &obj->site[i];

		CHECK(!i || obj->site[i - 1].addr <= s->addr);
		CHECK(s->skip < UFT_SKIP_NKINDS && s->len <= 15);
		CHECK(s->skip || (s->kind != UFT_SITE_NONE && s->kind <= UFT_SITE_PREPAD));
		CHECK(s->skip || s->len >= (s->kind == UFT_SITE_PREPAD ? 2 : 5));
		CHECK(s->skip || object_text(obj, s->addr));
	}
	for (i = 1; i < obj->nfunc; i++)
		CHECK(obj->func[i - 1].addr < obj->func[i].addr);
	look_up(obj);
	take_events(obj);
	return 0;
}

/* Archives are read from a path: a file in memory has one. */
static void try_archive(const uint8_t *data, size_t size)
{
	struct uft_error err = { "" };
	char path[64];
	int fd = memfd_create("fuzz", 0);

	CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (uft_archive_each(path, try_object, NULL, &err))
		CHECK(err.text[0]);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct uft_error err = { "" };
	struct uft_object *obj;
	struct elf_view v;
	uint8_t *copy;

	if (!size)
		return 0;
	if (size > 8 && !memcmp(data, "!<arch>\n", 8)) {
		try_archive(data, size);
		return 0;
	}
	copy = malloc(size);
	CHECK(copy);
	memcpy(copy, data, size);
	if (elf_open_memory(&v, copy, size, ELF_MALLOCED, "input", &err)) {
		CHECK(err.text[0]);
		return 0;
	}
	if (object_from_view(&v, "input", &obj, &err)) {
		CHECK(strstr(err.text, "MB of code"));
		return 0;
	}
	try_object(NULL, obj);
	uft_object_put(obj);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* datfile.c - see datfile.h */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "output/datfile.h"
#include "output/krecord.h"
#include "symbol/array.h"
#include "symbol/event_type.h"

/* Ids of options and of sections. */
enum {
	OPT_DONE = 0, OPT_CPUSTAT = 2, OPT_BUFFER = 3, OPT_TRACECLOCK = 4, OPT_UNAME = 5, OPT_CPUCOUNT = 8,
	OPT_VERSION = 9, OPT_STRINGS = 15, OPT_HEADER_INFO = 16, OPT_FTRACE_EVENTS = 17, OPT_EVENT_FORMATS = 18,
	OPT_KALLSYMS = 19, OPT_PRINTK = 20, OPT_CMDLINES = 21,
};

#define SECTION_COMPRESSED	1

/* ---- Bytes in memory ---- */

struct blob {
	char *p;
	size_t n, cap;
	int error;
};

static void put(struct blob *b, const void *data, size_t n)
{
	if (!b->error)
		b->error = array_reserve(b->p, b->cap, b->n + n);
	if (b->error)
		return;
	if (n)
		memcpy(b->p + b->n, data, n);
	b->n += n;
}

static void put_u16(struct blob *b, uint16_t v) { put(b, &v, 2); }
static void put_u32(struct blob *b, uint32_t v) { put(b, &v, 4); }
static void put_u64(struct blob *b, uint64_t v) { put(b, &v, 8); }
static void put_string(struct blob *b, const char *text) { put(b, text, strlen(text) + 1); }

static void patch_u64(struct blob *b, size_t at, uint64_t v)
{
	if (!b->error)
		memcpy(b->p + at, &v, 8);
}

static uint64_t page_align(uint64_t v)
{
	return (v + KBUF_PAGE - 1) & ~(uint64_t)(KBUF_PAGE - 1);
}

/* ---- Parts that both versions have ---- */

static void put_magic(struct blob *b, const char *version)
{
	static const char magic[] = { 0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g' };

	put(b, magic, sizeof(magic));
	put_string(b, version);
	put(b, "\0\10", 2);		/* little endian, 8-byte long */
	put_u32(b, KBUF_PAGE);
}

static void put_header_info(struct blob *b, const struct dat_file *file)
{
	(void)file;
	put_string(b, "header_page");
	put_u64(b, strlen(krecord_header_page));
	put(b, krecord_header_page, strlen(krecord_header_page));
	put_string(b, "header_event");
	put_u64(b, strlen(krecord_header_event));
	put(b, krecord_header_event, strlen(krecord_header_event));
}

static void put_ftrace_events(struct blob *b, const struct dat_file *file)
{
	(void)file;
	put_u32(b, KRECORD_NFORMATS);
	for (size_t i = 0; i < KRECORD_NFORMATS; i++) {
		put_u64(b, strlen(krecord_formats[i].text));
		put(b, krecord_formats[i].text, strlen(krecord_formats[i].text));
	}
}

/* Systems, and the events of each. */
static void put_event_formats(struct blob *b, const struct dat_file *file)
{
	const struct uft_event_table *t = file->events;
	uint32_t n;

	put_u32(b, uft_event_table_systems(t));
	for (uint32_t s = 0; s < uft_event_table_systems(t); s++) {
		put_string(b, uft_event_table_system(t, s));
		n = uft_event_table_members(t, s);
		put_u32(b, n);
		for (uint32_t i = 0; i < n; i++) {
			const struct uft_event_type *type = uft_event_table_at(t, uft_event_table_member(t, s, i));
			const char *text = type ? type->format : "";	/* removed just now */

			put_u64(b, strlen(text));
			put(b, text, strlen(text));
		}
	}
}

static void put_kallsyms(struct blob *b, const struct dat_file *file)
{
	put_u32(b, (uint32_t)file->kallsyms_len);
	put(b, file->kallsyms, file->kallsyms_len);
}

static void put_printk(struct blob *b, const struct dat_file *file)
{
	(void)file;
	put_u32(b, 0);
}

static void put_cmdlines(struct blob *b, const struct dat_file *file)
{
	put_u64(b, file->cmdlines_len);
	put(b, file->cmdlines, file->cmdlines_len);
}

static void put_option(struct blob *b, uint16_t id, const void *data, size_t n)
{
	put_u16(b, id);
	put_u32(b, (uint32_t)n);
	put(b, data, n);
}

static void put_text_option(struct blob *b, uint16_t id, const char *text)
{
	put_option(b, id, text, strlen(text) + 1);
}

/* per_cpu/cpuN/stats after recording: all was read, so the buffer is empty */
static void put_cpu_stats(struct blob *b, const struct dat_file *file)
{
	char text[256];

	for (uint32_t i = 0; i < file->ncpus; i++) {
		snprintf(text, sizeof(text), "CPU: %" PRIu32 "\nentries: 0\noverrun: %" PRIu64 "\ncommit overrun: 0\n"
			 "bytes: 0\ndropped events: 0\nread events: %" PRIu64 "\n", i, file->cpu[i].lost,
			 file->cpu[i].entries);
		put_text_option(b, OPT_CPUSTAT, text);
	}
}

/* The content of the file trace_clock: readers only look for the brackets */
static size_t clock_list(char *out, size_t n, const struct dat_file *file)
{
	static const char *const names[] = { "local", "global", "counter", "uptime", "perf", "mono", "mono_raw", "boot",
		"tai", "x86-tsc" };
	size_t at = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		at += (size_t)snprintf(out + at, n - at, strcmp(names[i], file->clock) ? "%s%s" : "%s[%s]",
				       i ? " " : "", names[i]);
	return at + (size_t)snprintf(out + at, n - at, "\n");
}

/* As trace-cmd has it: `Linux HOST RELEASE MACHINE`. */
static void put_uname(struct blob *b, const struct uft_info *info)
{
	const char *uname = info->uname ? info->uname : "",
		   *host = info->hostname && *info->hostname ? info->hostname : "(none)";
	int system = (int)strcspn(uname, " ");
	char text[512];

	snprintf(text, sizeof(text), "%.*s %.200s%.250s", system, uname, host, uname + system);
	put_text_option(b, OPT_UNAME, text);
}

static void put_plain_options(struct blob *b, const struct dat_file *file)
{
	uint32_t ncpus = file->ncpus;
	char list[128];

	clock_list(list, sizeof(list), file);
	put_text_option(b, OPT_TRACECLOCK, list);
	put_uname(b, file->info);
	put_text_option(b, OPT_VERSION, "uft");
	put_option(b, OPT_CPUCOUNT, &ncpus, 4);
	put_cpu_stats(b, file);
}

/* ---- Version 6: one part after the other ---- */

static void build_v6(struct blob *b, const struct dat_file *file)
{
	size_t table, nlist;
	char list[128];
	uint64_t at;

	put_magic(b, "6");
	put_header_info(b, file);
	put_ftrace_events(b, file);
	put_event_formats(b, file);
	put_kallsyms(b, file);
	put_printk(b, file);
	put_cmdlines(b, file);
	put_u32(b, file->ncpus);
	put(b, "options  ", 10);
	put_plain_options(b, file);
	put_u16(b, OPT_DONE);
	put(b, "flyrecord", 10);
	table = b->n;
	for (uint32_t i = 0; i < file->ncpus; i++) {
		put_u64(b, 0);
		put_u64(b, file->cpu[i].lane->bytes);
	}
	nlist = clock_list(list, sizeof(list), file);
	put_u64(b, nlist);
	put(b, list, nlist);
	at = page_align(b->n);
	for (uint32_t i = 0; i < file->ncpus; i++) {
		patch_u64(b, table + i * 16, at);
		at = page_align(at + file->cpu[i].lane->bytes);
	}
}

/* ---- Version 7: sections, found through options ---- */

static const struct section {
	uint16_t id;
	const char *name;
	void (*fill)(struct blob *b, const struct dat_file *file);
} sections[] = {
	{ OPT_HEADER_INFO, "headers", put_header_info },
	{ OPT_FTRACE_EVENTS, "ftrace events", put_ftrace_events },
	{ OPT_EVENT_FORMATS, "events format", put_event_formats },
	{ OPT_KALLSYMS, "kallsyms", put_kallsyms },
	{ OPT_PRINTK, "printk", put_printk },
	{ OPT_CMDLINES, "cmdlines", put_cmdlines },
};
#define NSECTIONS	(sizeof(sections) / sizeof(sections[0]))

static const char *const more_names[] = { "strings", "options", "flyrecord" };

/* The place of section @i's name in the strings section; the names of more_names follow. */
static uint32_t name_offset(size_t i)
{
	uint32_t at = 0;

	for (size_t k = 0; k < i && k < NSECTIONS; k++)
		at += (uint32_t)strlen(sections[k].name) + 1;
	for (size_t k = NSECTIONS; k < i; k++)
		at += (uint32_t)strlen(more_names[k - NSECTIONS]) + 1;
	return at;
}

static void put_section_header(struct blob *b, uint16_t id, uint16_t flags, size_t name, uint64_t size)
{
	put_u16(b, id);
	put_u16(b, flags);
	put_u32(b, name_offset(name));
	put_u64(b, size);
}

static void put_packed(struct blob *b, uint16_t id, size_t name, const struct blob *data)
{
	size_t room = ZSTD_compressBound(data->n), n;
	char *packed = malloc(room);

	if (!packed) {
		b->error = -ENOMEM;
		return;
	}
	n = ZSTD_compress(packed, room, data->p, data->n, DAT_ZSTD_LEVEL);
	if (ZSTD_isError(n)) {		/* all has room, so memory is what it lacks */
		b->error = -ENOMEM;
	} else {
		put_section_header(b, id, SECTION_COMPRESSED, name, n + 8);
		put_u32(b, (uint32_t)n);
		put_u32(b, (uint32_t)data->n);
		put(b, packed, n);
	}
	free(packed);
}

static void put_section(struct blob *b, const struct dat_file *file, size_t i)
{
	struct blob data = { 0 };

	sections[i].fill(&data, file);
	if (data.error) {
		b->error = data.error;
	} else if (file->version == DAT_V7_ZSTD) {
		put_packed(b, sections[i].id, i, &data);
	} else {
		put_section_header(b, sections[i].id, 0, i, data.n);
		put(b, data.p, data.n);
	}
	free(data.p);
}

static void put_strings(struct blob *b)
{
	put_section_header(b, OPT_STRINGS, 0, NSECTIONS, name_offset(NSECTIONS + 3));
	for (size_t i = 0; i < NSECTIONS; i++)
		put_string(b, sections[i].name);
	for (size_t i = 0; i < 3; i++)
		put_string(b, more_names[i]);
}

/* Bytes of a CPU's data in the file: chunks are preceded by their number. */
static uint64_t cpu_bytes(const struct dat_file *file, uint32_t i)
{
	uint64_t n = file->cpu[i].lane->bytes;

	return n && file->version == DAT_V7_ZSTD ? n + 4 : n;
}

/* Writes the BUFFER option. Returns the place of its table of CPUs, which is patched later. */
static size_t put_buffer_option(struct blob *b, const struct dat_file *file, size_t *section_at)
{
	size_t size = 8 + 1 + strlen(file->clock) + 1 + 4 + 4 + (size_t)file->ncpus * 20, table;

	put_u16(b, OPT_BUFFER);
	put_u32(b, (uint32_t)size);
	*section_at = b->n;
	put_u64(b, 0);
	put_string(b, "");		/* the top instance */
	put_string(b, file->clock);
	put_u32(b, KBUF_PAGE);
	put_u32(b, file->ncpus);
	table = b->n;
	for (uint32_t i = 0; i < file->ncpus; i++) {
		put_u32(b, i);
		put_u64(b, 0);
		put_u64(b, cpu_bytes(file, i));
	}
	return table;
}

/* The section that holds all pages: its header, and the places of the CPUs in it. */
static void put_buffer_section(struct blob *b, const struct dat_file *file, size_t table)
{
	size_t header = b->n;
	uint64_t at = page_align(header + 16);

	put_section_header(b, OPT_BUFFER, file->version == DAT_V7_ZSTD ? SECTION_COMPRESSED : 0, NSECTIONS + 2, 0);
	for (uint32_t i = 0; i < file->ncpus; i++) {
		patch_u64(b, table + i * 20 + 4, cpu_bytes(file, i) ? at : 0);
		at = page_align(at + cpu_bytes(file, i));
	}
	patch_u64(b, header + 8, at - (header + 16));
}

static void build_v7(struct blob *b, const struct dat_file *file)
{
	int is_packed = file->version == DAT_V7_ZSTD;
	size_t first_options, options, table, buffer_at;
	uint64_t at[NSECTIONS];

	put_magic(b, "7");
	put_string(b, is_packed ? "zstd" : "none");
	put_string(b, is_packed ? ZSTD_versionString() : "");
	first_options = b->n;
	put_u64(b, 0);
	for (size_t i = 0; i < NSECTIONS; i++) {
		at[i] = b->n;
		put_section(b, file, i);
	}
	put_strings(b);
	options = b->n;
	patch_u64(b, first_options, options);
	put_section_header(b, OPT_DONE, 0, NSECTIONS + 1, 0);
	for (size_t i = 0; i < NSECTIONS; i++)
		put_option(b, sections[i].id, &at[i], 8);
	put_plain_options(b, file);
	table = put_buffer_option(b, file, &buffer_at);
	put_option(b, OPT_DONE, "\0\0\0\0\0\0\0", 8);
	patch_u64(b, options + 8, b->n - (options + 16));
	patch_u64(b, buffer_at, b->n);
	put_buffer_section(b, file, table);
}

/* ---- The file ---- */

static int pad_to_page(int fd, uint64_t *at)
{
	static const char zero[KBUF_PAGE];
	uint64_t end = page_align(*at);
	int ret = spool_write_all(fd, zero, (size_t)(end - *at));

	*at = end;
	return ret;
}

static int write_cpu(const struct dat_file *file, uint32_t i, int fd, uint64_t *at)
{
	int ret = 0;

	if (!file->cpu[i].lane->bytes)
		return 0;
	ret = pad_to_page(fd, at);
	if (!ret && file->version == DAT_V7_ZSTD)
		ret = spool_write_all(fd, &file->cpu[i].nchunks, 4);
	if (!ret)
		ret = spool_copy(file->spool, file->cpu[i].lane, fd);
	*at += cpu_bytes(file, i);
	return ret;
}

int dat_file_write(const struct dat_file *file, int fd)
{
	struct blob b = { 0 };
	uint64_t at;
	int ret;

	if (file->kallsyms_len > UINT32_MAX / 2)
		return -EFBIG;
	if (file->version == DAT_V6)
		build_v6(&b, file);
	else
		build_v7(&b, file);
	at = b.n;
	ret = b.error ? b.error : spool_write_all(fd, b.p, b.n);
	for (uint32_t i = 0; i < file->ncpus && !ret; i++)
		ret = write_cpu(file, i, fd, &at);
	if (!ret)
		ret = pad_to_page(fd, &at);	/* readers map whole pages */
	free(b.p);
	return ret;
}

// SPDX-License-Identifier: MIT
/*
 * parse_bound_test.c - files that are made to cost more than they are long: each is refused by name, in a bounded time
 *
 * The process has ADDRESS_BYTES of address space and each form CPU_S of the CPU: what is beyond them ends the test.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "symbol/object.h"
#include "symbol/object_internal.h"
#include "symbol/tracepoint.h"
#include "uft/tracepoint.h"

#define CHECK(c) do { if (!(c)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #c); exit(1); } } while (0)
#define ADDRESS_BYTES	(6ull << 30)
#define MEMORY_MB	2000u
#define CPU_S		60	/* with sanitizers as well */

static char path[] = "/tmp/uft-parse-bound-XXXXXX";

static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- A library, section by section ---- */

#define MAX_BYTES	(128u << 20)
#define BASE		0x10000000ull	/* what is mapped begins here, at the file's first byte */

struct file {
	uint8_t *p;
	size_t n;
	Elf64_Shdr sh[PARSE_MAX_SECTIONS];
	size_t nsh;
	char names[4096];
	size_t nnames;
};

static struct file *begin(void)
{
	struct file *f = calloc(1, sizeof(*f));

	CHECK(f && (f->p = calloc(1, MAX_BYTES)));
	f->n = 4096;
	f->nsh = f->nnames = 1;
	return f;
}

/* Room of @bytes for contents; its place. */
static size_t room(struct file *f, size_t bytes)
{
	size_t at = f->n;

	f->n += (bytes + 15) & ~15ull;
	CHECK(f->n < MAX_BYTES - (1u << 20));
	return at;
}

static size_t section(struct file *f, const char *name, uint32_t type, size_t at, size_t bytes)
{
	CHECK(f->nsh < PARSE_MAX_SECTIONS && f->nnames + strlen(name) < sizeof(f->names));
	f->sh[f->nsh] = (Elf64_Shdr){ .sh_name = *name ? (uint32_t)f->nnames : 0, .sh_type = type,
		.sh_flags = SHF_ALLOC,
		.sh_addr = BASE + at, .sh_offset = at, .sh_size = bytes };
	if (*name)
		memcpy(f->names + f->nnames, name, strlen(name) + 1);
	f->nnames += *name && f->nsh < 64 ? strlen(name) + 1 : 0;	/* many have one name */
	return f->nsh++;
}

/* Headers, and one mapping of the whole with @memsz bytes; then PT_DYNAMIC and PT_GNU_EH_FRAME, if there are such. */
static void finish(struct file *f, uint64_t memsz, size_t dynamic, size_t dynamic_bytes, size_t eh, size_t eh_bytes)
{
	size_t names = room(f, sizeof(f->names)), headers, n = 1;
	Elf64_Phdr ph[3] = { { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = BASE } };
	Elf64_Ehdr eh64 = { .e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_phoff = 64,
		.e_ehsize = 64, .e_phentsize = sizeof(Elf64_Phdr), .e_shentsize = sizeof(Elf64_Shdr) };
	int fd;

	memcpy(f->p + names, f->names, sizeof(f->names));
	section(f, "", SHT_STRTAB, names, sizeof(f->names));
	headers = room(f, f->nsh * sizeof(Elf64_Shdr));
	memcpy(f->p + headers, f->sh, f->nsh * sizeof(Elf64_Shdr));
	memcpy(eh64.e_ident, ELFMAG, SELFMAG);
	eh64.e_ident[EI_CLASS] = ELFCLASS64;
	eh64.e_ident[EI_DATA] = ELFDATA2LSB;
	eh64.e_ident[EI_VERSION] = EV_CURRENT;
	eh64.e_shoff = headers;
	eh64.e_shnum = (uint16_t)f->nsh;
	eh64.e_shstrndx = (uint16_t)(f->nsh - 1);
	if (dynamic)
		ph[n++] = (Elf64_Phdr){ .p_type = PT_DYNAMIC, .p_vaddr = BASE + dynamic, .p_offset = dynamic,
			.p_filesz = dynamic_bytes, .p_memsz = dynamic_bytes };
	if (eh)
		ph[n++] = (Elf64_Phdr){ .p_type = PT_GNU_EH_FRAME, .p_vaddr = BASE + eh, .p_offset = eh,
			.p_filesz = eh_bytes,
			.p_memsz = eh_bytes };
	ph[0].p_filesz = f->n;
	ph[0].p_memsz = memsz ? memsz : f->n;
	eh64.e_phnum = (uint16_t)n;
	memcpy(f->p, &eh64, sizeof(eh64));
	memcpy(f->p + 64, ph, n * sizeof(ph[0]));
	fd = open(path, O_WRONLY | O_TRUNC);
	CHECK(fd >= 0);
	for (size_t at = 0; at < f->n;) {
		ssize_t n2 = write(fd, f->p + at, f->n - at);

		CHECK(n2 > 0);
		at += (size_t)n2;
	}
	close(fd);
	free(f->p);
	free(f);
}

static struct uft_object *open_it(void)
{
	struct uft_error err = { "" };
	struct uft_object *obj;
	int ret = uft_object_open(path, &obj, &err);

	if (ret)
		fprintf(stderr, "%s\n", err.text);
	CHECK(!ret);
	return obj;
}

/* Something of @what was refused, in words, and is counted. */
static void refused(unsigned before, const struct uft_error *err, const char *what)
{
	if (!strstr(err->text, what) || !strstr(err->text, path))
		fprintf(stderr, "'%s' lacks '%s'\n", err->text, what);
	CHECK(strstr(err->text, what) && strstr(err->text, path));
	CHECK(bound_refusals(NULL) == before + 1);
}

static void put64(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, 8);
}

/* ---- Forms ---- */

/* Hundreds of section headers for one array of initializers: megabytes each in memory, and nothing in the file. */
static struct uft_object *make_arrays(void)
{
	struct file *f = begin();
	size_t at = room(f, 8u << 20);

	for (int i = 0; i < 1000; i++)
		section(f, ".init_array", SHT_INIT_ARRAY, at, 8u << 20);
	finish(f, 0, 0, 0, 0, 0);
	return open_it();
}

static void many_arrays(void)
{
	const unsigned before = bound_refusals(NULL);
	struct uft_error first;
	struct uft_object *obj = make_arrays();

	CHECK(uft_object_inits(obj) * 8 <= PARSE_MAX_BYTES && obj->ninit * 8 > PARSE_MAX_BYTES / 2);
	CHECK(!before);
	bound_refusals(&first);
	refused(before, &first, "its initializers would take more than 1024 MB");
	uft_object_put(obj);
}

/*
 * Files that others can change share their bound: each leaves the next half of what there is, and gives it
 * back at its end.
 */
static void share(void)
{
	struct parse_bound *of[4], *ours = bound_create(0);
	uint64_t left = PARSE_ALL_BYTES;

	for (int i = 0; i < 4; i++) {
		CHECK((of[i] = bound_create(1)));
		CHECK(bound_take(of[i], "things", left / 2 + 1) == -EFBIG && !bound_take(of[i], "things", left / 2));
		left -= left / 2;
	}
	CHECK(!bound_take(ours, "things", PARSE_MAX_BYTES) && bound_take(ours, "things", 1) == -EFBIG);
	CHECK(!bound_alloc(of[0], "things", SIZE_MAX / 2, 4) && !bound_alloc(NULL, "things", SIZE_MAX, SIZE_MAX));
	for (int i = 0; i < 4; i++)
		bound_put(of[i]);
	bound_put(ours);
	CHECK((of[0] = bound_create(1)) && !bound_take(of[0], "things", PARSE_ALL_BYTES / 2));
	bound_put(of[0]);
}

/* The same of tables of sites, none of which has its relocations where they are looked for first. */
static void many_tables(void)
{
	enum { NRELA = 1100000, NTABLES = 1020 };
	struct file *f = begin();
	size_t rela = room(f, NRELA * sizeof(Elf64_Rela)), at = room(f, 64), dynamic = room(f, 64);
	const uint64_t tag[] = { DT_RELA, BASE + rela, DT_RELASZ, NRELA * sizeof(Elf64_Rela), DT_NULL, 0 };
	const unsigned before = bound_refusals(NULL);
	struct uft_error err = { "" };
	struct uft_object *obj;

	for (size_t i = 0; i < NRELA; i++)
		((Elf64_Rela *)(void *)(f->p + rela))[i] = (Elf64_Rela){ .r_offset = i, .r_info = R_X86_64_RELATIVE };
	memcpy(f->p + dynamic, tag, sizeof(tag));
	for (int i = 0; i < NTABLES; i++)
		section(f, "__mcount_loc", SHT_PROGBITS, at, 8);
	for (int i = 0; i < 2; i++)
		section(f, "", SHT_NULL, 0, 0);
	finish(f, 0, dynamic, sizeof(tag), 0, 0);
	obj = open_it();
	CHECK(uft_object_sites(obj, &err) == -EFBIG);
	refused(before, &err, "its relocations of sites would take more than 1073 million steps");
	CHECK(uft_object_sites(obj, &err) == -EFBIG && bound_refusals(NULL) == before + 1);	/* not tried again */
	uft_object_put(obj);
}

/* As symtab.c has it. */
static uint32_t hash_of(const char *s, size_t n)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * 16777619u;
	return h;
}

/* Names whose hashes fall together, so that each is compared with all before it. */
static void one_hash(void)
{
	enum { N = 400000 };
	struct file *f = begin();
	size_t syms = room(f, (N + 1) * sizeof(Elf64_Sym)), names = room(f, (N + 1) * 12ull), at = 1, n = 0, s;
	const unsigned before = bound_refusals(NULL);
	struct uft_error err = { "" };
	struct uft_object *obj;

	/* The table has room for twice as many: all that begin in one of its thousandths are near each other. */
	for (uint32_t i = 0; n < N; i++) {
		char name[12];
		int len = snprintf(name, sizeof(name), "f%x", i);
		uint32_t h = hash_of(name, (size_t)len);

		if (((h ^ h >> 15) & ((1u << 20) - 1)) >> 14)
			continue;
		memcpy(f->p + names + at, name, (size_t)len + 1);
		((Elf64_Sym *)(void *)(f->p + syms))[++n] = (Elf64_Sym){ .st_name = (uint32_t)at, .st_info = STT_FUNC |
			STB_GLOBAL << 4,
			.st_shndx = 1, .st_value = BASE + n };
		at += (size_t)len + 1;
	}
	s = section(f, ".symtab", SHT_SYMTAB, syms, (N + 1) * sizeof(Elf64_Sym));
	f->sh[s].sh_link = (uint32_t)section(f, ".strtab", SHT_STRTAB, names, at);
	finish(f, 0, 0, 0, 0, 0);
	obj = open_it();
	CHECK(uft_object_names(obj, &err) == -EFBIG);
	refused(before, &err, "names would take more than 1073 million steps");
	CHECK(uft_object_names(obj, &err) == -EFBIG);	/* not tried again */
	CHECK(bound_refusals(NULL) == before + 1);
	uft_object_put(obj);
}

/* Unwind entries that all hold two headers of megabytes in turn. */
static void long_cies(void)
{
	enum { N = 100000, INSNS = 1u << 20 };
	struct file *f = begin();
	size_t cie[2], eh = room(f, 12 + 8ull * N), fde;
	const unsigned before = bound_refusals(NULL);
	struct uft_error err = { "" };
	struct uft_object *obj;

	for (int i = 0; i < 2; i++) {
		/* id, version, no augmentation, alignments, register */
		const uint8_t head[] = { 0, 0, 0, 0, 1, 0, 1, 0x78, 16 };
		uint32_t len = sizeof(head) + INSNS;

		cie[i] = room(f, 4 + len);
		memcpy(f->p + cie[i], &len, 4);
		memcpy(f->p + cie[i] + 4, head, sizeof(head));
	}
	fde = room(f, 24ull * N);
	memcpy(f->p + eh, "\1\xff\3\x3b", 4);
	memcpy(f->p + eh + 4, &(uint32_t){ N }, 4);
	for (uint32_t i = 0; i < N; i++) {
		uint8_t *p = f->p + fde + 24ull * i;
		const uint32_t id = (uint32_t)(p + 4 - (f->p + cie[i & 1]));
		const int32_t row[2] = { (int32_t)(4096 + i - eh), (int32_t)(fde + 24ull * i - eh) };

		memcpy(p, &(uint32_t){ 20 }, 4);
		memcpy(p + 4, &id, 4);
		put64(p + 8, BASE + 4096 + i);
		put64(p + 16, 1);
		memcpy(f->p + eh + 8 + 8ull * i, row, sizeof(row));
	}
	finish(f, 0, 0, 0, eh, 8 + 8ull * N);
	obj = open_it();
	CHECK(uft_object_names(obj, &err) == 0 || bound_refusals(NULL) == before + 1);
	uft_object_put(obj);
}

/* Code of the length of half the address space, which the file does not have. */
static void endless_text(void)
{
	struct uft_error err = { "" };
	struct uft_object *obj;

	finish(begin(), 1ull << 46, 0, 0, 0, 0);
	CHECK(uft_object_open(path, &obj, &err) == -EFBIG && strstr(err.text, "MB of code"));
}

/* ---- Tracepoints ---- */

static size_t put_record(struct file *f, const void *fixed, size_t size, const char *system, const char *name,
			 const char *print,
			 size_t nprint)
{
	const size_t bytes = size + strlen(system) + 1 + strlen(name) + 1 + nprint + 1;
	size_t at = room(f, (bytes + 7) & ~7ull);
	uint8_t *p = f->p + at;

	memcpy(p, fixed, size);
	p += size;
	memcpy(p, system, strlen(system) + 1);
	p += strlen(system) + 1;
	memcpy(p, name, strlen(name) + 1);
	p += strlen(name) + 1;
	memset(p, print[0], nprint);
	return at;
}

/* Thousands of events, a hundred bytes each in the file, with the text of one class. */
static void one_class(size_t nprint, uint32_t most)
{
	enum { N = 50000 };
	struct file *f = begin();
	struct uft_found_events found;
	struct uft_object *obj;
	struct uft_event_class class = { .magic = UFT_TRACEPOINT_MAGIC, .system_bytes = 2, .name_bytes = 2,
		.print_bytes = (uint32_t)nprint + 1 };
	size_t at, first;

	class.bytes = (uint32_t)(sizeof(class) + 4 + nprint + 1);
	at = put_record(f, &class, sizeof(class), "s", "c", "x", nprint);
	section(f, "__uft_classes", SHT_PROGBITS, at, f->n - at);
	first = f->n;
	for (int i = 0; i < N; i++) {
		struct uft_tracepoint t = { .magic = UFT_TRACEPOINT_MAGIC, .bytes = sizeof(t) };

		snprintf((char *)t.text, sizeof(t.text), "s%ce%d%cc", 0, i, 0);
		memcpy(f->p + room(f, sizeof(t)), &t, sizeof(t));
	}
	section(f, "__uft_events", SHT_PROGBITS, first, f->n - first);
	finish(f, 0, 0, 0, 0, 0);
	obj = open_it();
	CHECK(!uft_object_events(obj, &found));
	if (found.nrefused)
		CHECK(strstr(found.refused.text, path) && strstr(found.refused.text, "__uft_"));
	CHECK(found.nevents <= most && found.nevents + found.nrefused == N);
	uft_found_events_free(&found);
	uft_object_put(obj);
}

static void few_texts(void) { one_class(100, 50000); }
static void long_texts(void) { one_class(100000, 11000); }	/* less than a gigabyte of them */
static void too_long_text(void) { one_class(8u << 20, 0); }

/* MB that processes can have here. */
static unsigned long available(void)
{
	FILE *f = fopen("/proc/meminfo", "r");
	unsigned long kb = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f) && sscanf(line, "MemAvailable: %lu", &kb) != 1)
		;
	if (f)
		fclose(f);
	return kb >> 10;
}

int main(void)
{
	static const struct { const char *name; void (*fn)(void); } form[] = {
		{ "many arrays", many_arrays }, { "many tables", many_tables }, { "one hash", one_hash },
		{ "files of others", share }, { "long CIEs", long_cies }, { "endless text", endless_text },
		{ "few texts", few_texts }, { "long texts", long_texts }, { "a text that is too long", too_long_text },
	};
	int fd;

	if (available() < MEMORY_MB) {
		printf("SKIP: this machine has less than %u MB of memory left\n", MEMORY_MB);
		return 77;
	}
	fd = mkstemp(path);
	CHECK(fd >= 0);
	close(fd);
#ifndef __SANITIZE_ADDRESS__		/* whose shadow counts */
	setrlimit(RLIMIT_AS, &(struct rlimit){ ADDRESS_BYTES, ADDRESS_BYTES });
#endif
	for (size_t i = 0; i < sizeof(form) / sizeof(form[0]); i++) {
		const double begin_s = cpu();

		form[i].fn();
		printf("%s: %.2f s\n", form[i].name, cpu() - begin_s);
		CHECK(cpu() - begin_s < CPU_S);
	}
	unlink(path);
	return 0;
}

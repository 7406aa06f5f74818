/* SPDX-License-Identifier: MIT */
/*
 * cflags.c - the modes, and the question to the compiler
 *
 * A version number says little about what a compiler does (targets, defaults and distributions differ), and
 * an accepted flag is no proof either: some are accepted and ignored. So a file of two functions is really
 * compiled in a mode and the object is looked at: the pad or call at the entry, and the list with one entry
 * for each function.
 *
 * A new architecture is one row in machines[].
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/cflags/internal.h"
#include "symbol/prepare.h"

#ifndef EM_RISCV
#define EM_RISCV 243
#endif

#define PROBE_FUNCS 2
static const char probe_source[] =
	"#ifdef __cplusplus\n"
	"extern \"C\" { int uft_probe_cxx = 1; int uft_probe_a(int); int uft_probe_b(int); }\n"
	"#endif\n"
	"int uft_probe_a(int x) { return x + 1; }\n"
	"int uft_probe_b(int x) { return x * 3; }\n";

const char *const uft_cflags_mode_names[] = {
	[UFT_CFLAGS_PATCHABLE] = "patchable", [UFT_CFLAGS_NOP_MCOUNT] = "nop-mcount", [UFT_CFLAGS_FENTRY] = "fentry",
	[UFT_CFLAGS_MCOUNT] = "mcount", [UFT_CFLAGS_RECORD] = "record-mcount", [UFT_CFLAGS_BEFORE] = "before",
	[UFT_CFLAGS_NMODES] = NULL
};

static const struct machine {
	uint16_t machine;
	const char *name;
	const char *flags[UFT_CFLAGS_NMODES];
} machines[] = {
	{ EM_X86_64, "x86_64", {
		/* a call is 5 bytes */
		[UFT_CFLAGS_PATCHABLE] = UFT_PREPARE_X86_64,
		/* gcc refuses -mnop-mcount in position independent code, which many make by default */
		[UFT_CFLAGS_NOP_MCOUNT] = "-pg -mfentry -mrecord-mcount -mnop-mcount -fno-pie",
		[UFT_CFLAGS_FENTRY] = "-pg -mfentry",
		[UFT_CFLAGS_MCOUNT] = "-pg",
		[UFT_CFLAGS_RECORD] = "-pg -mfentry -mrecord-mcount",
		/* 16 keep the alignment of entries; 5 are needed */
		[UFT_CFLAGS_BEFORE] = "-fpatchable-function-entry=16,16" } },
	{ EM_AARCH64, "aarch64", {
		/* mov x9,x30; bl */
		[UFT_CFLAGS_PATCHABLE] = UFT_PREPARE_ARM64,
		[UFT_CFLAGS_MCOUNT] = "-pg" } },
	{ EM_RISCV, "riscv64", {
		/* auipc t0; jalr t0: 8 bytes, which are 4 compressed nops; aligned for one store */
		[UFT_CFLAGS_PATCHABLE] = UFT_PREPARE_RISCV64,
		[UFT_CFLAGS_MCOUNT] = "-pg" } },
};

static const struct machine *machine_find(uint16_t machine)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (machines[i].machine == machine)
			return &machines[i];
	return NULL;
}

const char *uft_cflags_flags(uint16_t machine, enum uft_cflags_mode mode)
{
	const struct machine *m = machine_find(machine);

	return m ? m->flags[mode] : NULL;
}

/* ---- Looking at the object ------------------------------------------------------------------ */

struct probe_object {
	uint16_t machine;
	int is_cxx;
	int calls_fentry, calls_mcount;		/* the name is undefined in it */
	unsigned pfe_lists, mcount_lists;	/* sections */
	size_t pfe_entries, mcount_entries;
	uint8_t entry[24];			/* first bytes of uft_probe_a */
	uint8_t before[8];			/* and what stands before it */
};

static void read_symbols(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, struct probe_object *o)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = sh->sh_entsize ? sh->sh_size / sh->sh_entsize : 0;
	GElf_Sym sym;

	for (size_t i = 0; data && i < n && gelf_getsym(data, i, &sym); i++) {
		const char *name = elf_strptr(elf, sh->sh_link, sym.st_name);
		Elf_Data *text;

		if (!name)
			continue;
		if (sym.st_shndx == SHN_UNDEF) {
			o->calls_fentry |= !strcmp(name, "__fentry__");
			o->calls_mcount |= !strcmp(name, "mcount") || !strcmp(name, "_mcount");
			continue;
		}
		o->is_cxx |= !strcmp(name, "uft_probe_cxx");
		if (strcmp(name, "uft_probe_a"))
			continue;
		text = elf_getdata(elf_getscn(elf, sym.st_shndx), NULL);
		if (text && text->d_buf && sym.st_value < text->d_size) {
			size_t len = text->d_size - sym.st_value;

			memcpy(o->entry, (char *)text->d_buf + sym.st_value,
			       len < sizeof(o->entry) ? len : sizeof(o->entry));
			if (sym.st_value >= sizeof(o->before))
				memcpy(o->before, (char *)text->d_buf + sym.st_value - sizeof(o->before),
				       sizeof(o->before));
		}
	}
}

static int read_object(const char *path, struct probe_object *o)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret = -ENOEXEC;
	Elf_Scn *scn = NULL;
	GElf_Ehdr eh;
	size_t shstr;
	Elf *elf;

	memset(o, 0, sizeof(*o));
	if (fd < 0)
		return -errno;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || !gelf_getehdr(elf, &eh) || elf_getshdrstrndx(elf, &shstr))
		goto out;
	o->machine = eh.e_machine;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		const char *name = gelf_getshdr(scn, &sh) ? elf_strptr(elf, shstr, sh.sh_name) : NULL;

		if (!name)
			continue;
		if (!strcmp(name, "__patchable_function_entries")) {
			o->pfe_lists++;
			o->pfe_entries += sh.sh_size / 8;
		} else if (!strcmp(name, "__mcount_loc")) {
			o->mcount_lists++;
			o->mcount_entries += sh.sh_size / 8;
		} else if (sh.sh_type == SHT_SYMTAB) {
			read_symbols(elf, scn, &sh, o);
		}
	}
	ret = 0;
out:
	elf_end(elf);
	close(fd);
	return ret;
}

/* Bytes of nops at the entry, after a landing pad; @insns receives how many instructions. */
static unsigned count_nops(const struct probe_object *o, unsigned *insns)
{
	static const struct nop { uint16_t machine; uint8_t len; uint8_t landing; uint8_t bytes[8]; } nops[] = {
		{ EM_X86_64, 4, 1, { 0xf3, 0x0f, 0x1e, 0xfa } },	/* endbr64 */
		{ EM_X86_64, 1, 0, { 0x90 } },
		{ EM_X86_64, 5, 0, { 0x0f, 0x1f, 0x44, 0x00, 0x00 } },
		{ EM_X86_64, 5, 0, { 0x0f, 0x1f, 0x44, 0x00, 0x08 } },	/* clang 14 */
		{ EM_AARCH64, 4, 1, { 0x5f, 0x24, 0x03, 0xd5 } },	/* bti c */
		{ EM_AARCH64, 4, 0, { 0x1f, 0x20, 0x03, 0xd5 } },
		{ EM_RISCV, 2, 0, { 0x01, 0x00 } },
		{ EM_RISCV, 4, 0, { 0x13, 0x00, 0x00, 0x00 } },
	};
	const size_t n = sizeof(nops) / sizeof(nops[0]);
	unsigned at = 0, total = 0;
	size_t i = 0;

	*insns = 0;
	while (i < n) {
		const struct nop *p = &nops[i++];

		if (p->machine != o->machine || at + p->len > sizeof(o->entry) ||
		    memcmp(o->entry + at, p->bytes, p->len))
			continue;
		at += p->len;
		if (!p->landing) {
			total += p->len;
			++*insns;
		}
		i = 0;
	}
	return total;
}

/* NULL if the object is what the mode promises, else what it lacks. */
static const char *judge(enum uft_cflags_mode mode, const struct probe_object *o, struct uft_cflags_probe *p)
{
	const int wants_list = mode == UFT_CFLAGS_NOP_MCOUNT || mode == UFT_CFLAGS_RECORD;
	unsigned insns, nops = count_nops(o, &insns);
	const unsigned pad = o->machine == EM_X86_64 ? 5 : 8;

	if (mode == UFT_CFLAGS_PATCHABLE) {
		p->one_list = o->pfe_lists == 1;
		p->one_nop = insns == 1;
		return nops < pad ? "the flag is accepted, but no nops are at the entry" :
		       o->pfe_entries != PROBE_FUNCS ? "the functions are not listed" : NULL;
	}
	if (mode == UFT_CFLAGS_BEFORE) {
		p->one_list = o->pfe_lists == 1;
		return nops || memcmp(o->before, "\x90\x90\x90\x90\x90\x90\x90\x90", sizeof(o->before)) ?
			       "the flag is accepted, but the nops are not before the entry" :
		       o->pfe_entries != PROBE_FUNCS ? "the functions are not listed" : NULL;
	}
	p->one_list = o->mcount_lists == 1;
	if (wants_list && o->mcount_entries != PROBE_FUNCS)
		return "the functions are not listed in __mcount_loc";
	if (mode == UFT_CFLAGS_NOP_MCOUNT)
		return o->calls_fentry || o->calls_mcount || nops < pad ? "the calls are not nops" : NULL;
	if (mode == UFT_CFLAGS_MCOUNT)
		return o->calls_mcount ? NULL : "no call of mcount is made";
	return o->calls_fentry ? NULL : "no call of __fentry__ is made";
}

/* ---- Asking --------------------------------------------------------------------------------- */

/* The line of a compiler's output that says what is wrong, without the leading file name. */
static void first_error(const char *log, char *out, size_t size)
{
	const char *at = strstr(log, "error: ");
	size_t len;

	at = at ? at + 7 : log;
	len = strcspn(at, "\n");
	snprintf(out, size, "%.*s", (int)(len < size ? len : size - 1), at);
}

int uft_cflags_target(const char *cc, struct uft_cflags_target *t, struct uft_error *err)
{
	struct probe_object o;
	struct cc_dir dir;
	char log[4096], why[400];
	int ret;

	memset(t, 0, sizeof(*t));
	ret = cc_run(cc, "--version", NULL, log, sizeof(log));
	if (ret < 0)
		return uft_fail(err, ret, "cannot run the compiler '%s': %s", cc, strerror(-ret));
	snprintf(t->version, sizeof(t->version), "%.*s", (int)strcspn(log, "\n"), log);
	ret = cc_dir_make(&dir, probe_source, err);
	if (ret)
		return ret;
	ret = cc_run(cc, "", &dir, log, sizeof(log));
	if (!ret)
		ret = read_object(dir.object, &o);
	cc_dir_remove(&dir);
	if (ret) {
		first_error(log, why, sizeof(why));
		return uft_fail(err, -EINVAL, "'%s' does not compile to an ELF object: %s", cc, why);
	}
	t->machine = o.machine;
	t->is_cxx = o.is_cxx;
	if (!machine_find(o.machine))
		return uft_fail(err, -EPFNOSUPPORT, "'%s' compiles for ELF machine %u, for which no flags are known",
				cc, o.machine);
	return 0;
}

int uft_cflags_probe(const char *cc, const struct uft_cflags_target *t, enum uft_cflags_mode mode, const char *extra,
		     struct uft_cflags_probe *p, struct uft_error *err)
{
	const char *flags = uft_cflags_flags(t->machine, mode), *lacks;
	char words[4096 + 256];
	struct probe_object o;
	struct cc_dir dir;
	char log[4096];
	int ret;

	memset(p, 0, sizeof(*p));
	if (!flags) {
		snprintf(p->why, sizeof(p->why), "not a mode of this machine");
		return 0;
	}
	ret = cc_dir_make(&dir, probe_source, err);
	if (ret)
		return ret;
	snprintf(words, sizeof(words), "%s %s", flags, extra);
	ret = cc_run(cc, words, &dir, log, sizeof(log));
	if (ret > 0) {
		first_error(log, p->why, sizeof(p->why));
		ret = 0;
	} else if (!ret) {
		ret = read_object(dir.object, &o);
		lacks = ret ? "it makes no ELF object" : judge(mode, &o, p);
		p->ok = !lacks;
		if (lacks)
			snprintf(p->why, sizeof(p->why), "%s", lacks);
		ret = 0;
	} else {
		uft_fail(err, ret, "cannot run the compiler '%s': %s", cc, strerror(-ret));
	}
	cc_dir_remove(&dir);
	return ret;
}

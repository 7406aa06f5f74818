/* SPDX-License-Identifier: MIT */
/* elf_view.c - see elf_view.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/elf_view.h"
#include "symbol/guard_map.h"
#include "symbol/open_regular.h"

#define ELF_MAX_DYNAMIC		4096u	/* entries read; real files have some 30 */
#define ELF_MAX_SEGMENTS	512u	/* real files have about a dozen */
#define ELF_MAX_HASH_BUCKETS	(1u << 24)
#define ELF_COPIES_MAX_BYTES	(2ull << 30)	/* of copies of files that other users can change, all together */

const uint8_t *elf_bytes(const struct elf_view *v, uint64_t off, uint64_t len)
{
	if (off > v->size || len > v->size - off)
		return NULL;
	return v->data + off;
}

static int elf_in_load(const struct elf_view *v, const Elf64_Phdr *p, uint64_t vaddr)
{
	return p->p_type == PT_LOAD && vaddr >= p->p_vaddr && vaddr - p->p_vaddr < p->p_filesz &&
	       p->p_offset < v->size && vaddr - p->p_vaddr < v->size - p->p_offset;
}

const uint8_t *elf_at(struct elf_view *v, uint64_t vaddr, size_t *avail)
{
	const Elf64_Phdr *p;
	uint64_t at, left;
	size_t i = __atomic_load_n(&v->last_load, __ATOMIC_RELAXED);	/* a hint */

	if (i >= v->nph || !elf_in_load(v, &v->ph[i], vaddr)) {
		for (i = 0; i < v->nph && !elf_in_load(v, &v->ph[i], vaddr); i++)
			;
		if (i == v->nph)
			return NULL;
		__atomic_store_n(&v->last_load, (unsigned)i, __ATOMIC_RELAXED);
	}
	p = &v->ph[i];
	at = vaddr - p->p_vaddr;
	left = p->p_filesz - at;
	if (left > v->size - p->p_offset - at)
		left = v->size - p->p_offset - at;
	*avail = left;
	return v->data + p->p_offset + at;
}

const uint8_t *elf_at_len(struct elf_view *v, uint64_t vaddr, size_t len)
{
	size_t avail;
	const uint8_t *p = elf_at(v, vaddr, &avail);

	return p && avail >= len ? p : NULL;
}

static struct elf_strtab elf_strtab_make(const uint8_t *data, size_t len)
{
	struct elf_strtab t = { (const char *)data, data ? len : 0 };

	/* Cuts an unterminated end, so that every offset below len is a string. */
	while (t.len && t.s[t.len - 1])
		t.len--;
	return t;
}

const char *elf_section_name(const struct elf_view *v, size_t i)
{
	return i < v->nsh && v->sh[i].sh_name < v->shstr.len ? v->shstr.s + v->sh[i].sh_name : "";
}

size_t elf_section(const struct elf_view *v, const char *name, size_t from)
{
	size_t i;

	for (i = from ? from : 1; i < v->nsh; i++)
		if (!strcmp(elf_section_name(v, i), name))
			return i;
	return 0;
}

const uint8_t *elf_section_data(const struct elf_view *v, size_t i, size_t *len)
{
	const uint8_t *p;

	*len = 0;
	if (!i || i >= v->nsh || v->sh[i].sh_type == SHT_NOBITS || v->sh[i].sh_flags & SHF_COMPRESSED)
		return NULL;
	p = elf_bytes(v, v->sh[i].sh_offset, v->sh[i].sh_size);
	if (p)
		*len = v->sh[i].sh_size;
	return p;
}

void elf_symtab_find(const struct elf_view *v, uint32_t type, struct elf_symtab *out)
{
	size_t i, len;

	memset(out, 0, sizeof(*out));
	for (i = 1; i < v->nsh; i++) {
		if (v->sh[i].sh_type != type)
			continue;
		out->sym = elf_section_data(v, i, &len);
		out->n = len / sizeof(Elf64_Sym);
		if (v->sh[i].sh_link < v->nsh) {
			const uint8_t *str = elf_section_data(v, v->sh[i].sh_link, &len);

			out->str = elf_strtab_make(str, len);
		}
		return;
	}
}

const char *elf_sym_name(const struct elf_symtab *t, const Elf64_Sym *s)
{
	return s->st_name < t->str.len ? t->str.s + s->st_name : "";
}

int elf_symtab_has(const struct elf_symtab *t, const char *name, int is_defined)
{
	Elf64_Sym s;

	for (size_t i = 1; i < t->n; i++) {
		elf_sym(t, i, &s);
		if (!is_defined == (s.st_shndx == SHN_UNDEF) && !strcmp(elf_sym_name(t, &s), name))
			return 1;
	}
	return 0;
}

const char *elf_sym_version(struct elf_view *v, size_t i)
{
	uint64_t need = v->verneed;
	uint64_t n, want;
	unsigned steps = 0;

	if (!v->versym || i >= v->dyn.n)
		return NULL;
	want = (v->versym[2 * i] | v->versym[2 * i + 1] << 8) & 0x7fff;
	if (want < 2)
		return NULL;
	for (n = 0; n < v->verneed_num && n < 1024; n++) {
		const uint8_t *p = elf_at_len(v, need, sizeof(Elf64_Verneed));
		Elf64_Verneed vn;
		Elf64_Vernaux va;
		uint64_t aux;
		unsigned k;

		if (!p)
			return NULL;
		memcpy(&vn, p, sizeof(vn));
		aux = need + vn.vn_aux;
		for (k = 0; k < vn.vn_cnt && steps++ < 65536; k++) {
			p = elf_at_len(v, aux, sizeof(va));
			if (!p)
				return NULL;
			memcpy(&va, p, sizeof(va));
			if ((va.vna_other & 0x7fff) == want)
				return va.vna_name < v->dyn.str.len ? v->dyn.str.s + va.vna_name : NULL;
			if (!va.vna_next)
				break;
			aux += va.vna_next;
		}
		if (!vn.vn_next)
			return NULL;
		need += vn.vn_next;
	}
	return NULL;
}

int elf_note_next(const struct elf_view *v, struct elf_note *note)
{
	for (; note->segment < v->nph; note->segment++, note->at = 0) {
		const Elf64_Phdr *ph = &v->ph[note->segment];
		const uint8_t *p;
		uint64_t desc, end;

		if (ph->p_type != PT_NOTE || note->at >= ph->p_filesz || ph->p_filesz - note->at < 12)
			continue;
		p = elf_bytes(v, ph->p_offset + note->at, ph->p_filesz - note->at);
		if (!p)
			continue;
		note->owner_len = elf_get32(p);
		note->desc_len = elf_get32(p + 4);
		note->type = elf_get32(p + 8);
		desc = 12 + ((note->owner_len + 3ull) & ~3ull);
		end = desc + ((note->desc_len + 3ull) & ~3ull);
		if (desc + note->desc_len > ph->p_filesz - note->at)
			continue;
		note->owner = p + 12;
		note->desc = p + desc;
		note->desc_addr = ph->p_vaddr + note->at + desc;
		note->at += end;
		return 1;
	}
	return 0;
}

static uint32_t elf_note_build_id(const uint8_t *p, size_t len, uint8_t *out, uint32_t max)
{
	while (len >= 12) {
		uint64_t namesz = elf_get32(p), descsz = elf_get32(p + 4);
		uint32_t type = elf_get32(p + 8);
		uint64_t name = (namesz + 3) & ~3ull, desc = (descsz + 3) & ~3ull;

		if (12 + name + descsz > len)
			return 0;
		if (type == NT_GNU_BUILD_ID && namesz == 4 && !memcmp(p + 12, "GNU", 4)) {
			uint32_t n = descsz < max ? descsz : max;

			memcpy(out, p + 12 + name, n);
			return n;
		}
		if (12 + name + desc > len)
			return 0;
		p += 12 + name + desc;
		len -= 12 + name + desc;
	}
	return 0;
}

uint32_t elf_build_id(const struct elf_view *v, uint8_t *out, uint32_t max)
{
	const uint8_t *p;
	uint32_t n;
	size_t i, len;

	for (i = 0; i < v->nph; i++) {
		if (v->ph[i].p_type != PT_NOTE)
			continue;
		p = elf_bytes(v, v->ph[i].p_offset, v->ph[i].p_filesz);
		n = p ? elf_note_build_id(p, v->ph[i].p_filesz, out, max) : 0;
		if (n)
			return n;
	}
	/* A separate debug file has the note's section; its segments are empty. */
	for (i = 1; i < v->nsh; i++) {
		if (v->sh[i].sh_type != SHT_NOTE)
			continue;
		p = elf_section_data(v, i, &len);
		n = p ? elf_note_build_id(p, len, out, max) : 0;
		if (n)
			return n;
	}
	return 0;
}

/* ---- The dynamic section -------------------------------------------------------------------- */

/* Returns the number of dynamic symbols by the hash tables, for files without section headers. */
static size_t elf_dynsym_count(struct elf_view *v, uint64_t hash, uint64_t gnu_hash)
{
	const uint8_t *p, *buckets;
	uint32_t nbuckets, symoffset, bloom, i, max = 0;
	uint64_t chain;

	p = hash ? elf_at_len(v, hash, 8) : NULL;
	if (p)
		return elf_get32(p + 4);
	p = gnu_hash ? elf_at_len(v, gnu_hash, 16) : NULL;
	if (!p)
		return 0;
	nbuckets = elf_get32(p);
	symoffset = elf_get32(p + 4);
	bloom = elf_get32(p + 8);
	if (nbuckets > ELF_MAX_HASH_BUCKETS || bloom > ELF_MAX_HASH_BUCKETS)
		return 0;
	buckets = elf_at_len(v, gnu_hash + 16 + bloom * 8ull, nbuckets * 4ull);
	if (!buckets)
		return 0;
	for (i = 0; i < nbuckets; i++)
		if (elf_get32(buckets + 4 * i) > max)
			max = elf_get32(buckets + 4 * i);
	if (max < symoffset)
		return symoffset;
	/* The chain of the highest bucket ends at the last symbol: its hash has bit 0 set. */
	chain = gnu_hash + 16 + bloom * 8ull + nbuckets * 4ull + (uint64_t)(max - symoffset) * 4;
	while ((p = elf_at_len(v, chain, 4)) && !(elf_get32(p) & 1)) {
		chain += 4;
		max++;
	}
	return (size_t)max + 1;
}

static void elf_relocs_set(struct elf_view *v, struct elf_relocs *r, uint64_t addr, uint64_t bytes)
{
	size_t avail;

	r->rela = addr ? elf_at(v, addr, &avail) : NULL;
	r->n = r->rela ? (bytes < avail ? bytes : avail) / sizeof(Elf64_Rela) : 0;
}

static void elf_read_dynamic(struct elf_view *v, const Elf64_Phdr *ph)
{
	uint64_t tag[DT_NUM] = { 0 }, gnu_hash = 0, versym = 0;
	size_t i, n = ph->p_filesz / sizeof(Elf64_Dyn), avail, count;
	const uint8_t *p = elf_bytes(v, ph->p_offset, n * sizeof(Elf64_Dyn));
	struct elf_symtab section;

	for (i = 0; p && i < n && i < ELF_MAX_DYNAMIC; i++) {
		uint64_t t = elf_get64(p + 16 * i), val = elf_get64(p + 16 * i + 8);

		if (t == DT_NULL)
			break;
		if (t == DT_NEEDED)
			v->has_needed = 1;
		if (t < DT_NUM)
			tag[t] = val;
		else if (t == DT_GNU_HASH)
			gnu_hash = val;
		else if (t == DT_VERSYM)
			versym = val;
		else if (t == DT_VERNEED)
			v->verneed = val;
		else if (t == DT_VERNEEDNUM)
			v->verneed_num = val;
	}
	p = tag[DT_STRTAB] ? elf_at(v, tag[DT_STRTAB], &avail) : NULL;
	v->dyn.str = elf_strtab_make(p, p && tag[DT_STRSZ] < avail ? tag[DT_STRSZ] : p ? avail : 0);
	v->dyn.sym = tag[DT_SYMTAB] ? elf_at(v, tag[DT_SYMTAB], &avail) : NULL;
	if (v->dyn.sym) {
		elf_symtab_find(v, SHT_DYNSYM, &section);
		count = section.n ? section.n : elf_dynsym_count(v, tag[DT_HASH], gnu_hash);
		v->dyn.n = count < avail / sizeof(Elf64_Sym) ? count : avail / sizeof(Elf64_Sym);
	}
	elf_relocs_set(v, &v->rela, tag[DT_RELA], tag[DT_RELASZ]);
	elf_relocs_set(v, &v->jmprel, tag[DT_JMPREL], tag[DT_PLTRELSZ]);
	v->versym = versym ? elf_at_len(v, versym, 2 * v->dyn.n) : NULL;
}

/* ---- Opening -------------------------------------------------------------------------------- */

static const char *elf_machine_name(unsigned machine)
{
	switch (machine) {
	case EM_386:		return "a 32-bit x86";
	case EM_ARM:		return "a 32-bit ARM";
	case EM_AARCH64:	return "a big-endian aarch64";
	case EM_RISCV:		return "a 32-bit or big-endian RISC-V";
	case EM_PPC64:		return "a POWER";
	case EM_S390:		return "an s390";
	case EM_X86_64:		return "an x32 or big-endian x86-64";
	default:		return "another machine's";
	}
}

static int elf_check_header(struct elf_view *v, const char *name, struct uft_error *err)
{
	unsigned char *id = v->eh.e_ident;
	unsigned machine;

	if (v->size < 20 || memcmp(v->data, ELFMAG, SELFMAG))
		return uft_fail(err, -ENOEXEC, "%s: not an ELF file%s", name,
				v->size > 2 && !memcmp(v->data, "#!", 2) ?
				" but a script; name its interpreter as the program to trace" : "");
	machine = v->data[18] | v->data[19] << 8;
	if (v->data[EI_DATA] == ELFDATA2MSB)
		machine = v->data[19] | v->data[18] << 8;
	if (v->data[EI_CLASS] != ELFCLASS64 || v->data[EI_DATA] != ELFDATA2LSB ||
	    (machine != EM_X86_64 && machine != EM_AARCH64 && machine != EM_RISCV))
		return uft_fail(err, -EPFNOSUPPORT,
				"%s: %s program; this uft traces 64-bit x86-64, aarch64 and riscv64 programs", name,
				elf_machine_name(machine));
	if (v->size < sizeof(v->eh))
		return uft_fail(err, -ENOEXEC, "%s: damaged ELF file: cut off inside its header", name);
	memcpy(&v->eh, v->data, sizeof(v->eh));
	if (id[EI_VERSION] != EV_CURRENT)
		return uft_fail(err, -ENOEXEC, "%s: damaged ELF file: unknown version %u", name, id[EI_VERSION]);
	if (v->eh.e_type != ET_EXEC && v->eh.e_type != ET_DYN && v->eh.e_type != ET_REL)
		return uft_fail(err, -ENOEXEC, "%s: an ELF file, but neither a program, a library nor an object%s",
				name, v->eh.e_type == ET_CORE ? ": it is a core dump" : "");
	return 0;
}

static void *elf_copy_table(const struct elf_view *v, uint64_t off, size_t n, size_t size)
{
	const uint8_t *p = elf_bytes(v, off, (uint64_t)n * size);
	void *t;

	if (!p)
		return NULL;
	t = bound_alloc(v->bound, "headers", n, size);
	if (t)
		memcpy(t, p, n * size);
	return t;
}

/* Section headers are optional for all objects that run: a broken table counts as none. */
static void elf_read_sections(struct elf_view *v)
{
	uint64_t n = v->eh.e_shnum, strndx = v->eh.e_shstrndx;
	const uint8_t *p;
	size_t len;

	if (!v->eh.e_shoff || v->eh.e_shentsize != sizeof(Elf64_Shdr))
		return;
	p = elf_bytes(v, v->eh.e_shoff, sizeof(Elf64_Shdr));
	if (!p)
		return;
	if (!n)			/* extended numbering: section 0 has the true values */
		n = elf_get64(p + offsetof(Elf64_Shdr, sh_size));
	if (strndx == SHN_XINDEX)
		strndx = elf_get32(p + offsetof(Elf64_Shdr, sh_link));
	if (!n || n > v->size / sizeof(Elf64_Shdr) || (v->eh.e_type != ET_REL && n > PARSE_MAX_SECTIONS))
		return;
	v->sh = elf_copy_table(v, v->eh.e_shoff, n, sizeof(Elf64_Shdr));
	if (!v->sh)
		return;
	v->nsh = n;
	p = elf_section_data(v, strndx, &len);
	v->shstr = elf_strtab_make(p, len);
}

int elf_open_memory(struct elf_view *v, const void *data, size_t size, enum elf_memory memory, const char *name,
		    struct uft_error *err)
{
	size_t i;
	int ret;

	memset(v, 0, sizeof(*v));
	v->data = data;
	v->size = size;
	v->memory = memory;
	v->bound = bound_create(memory == ELF_COPIED);
	ret = v->bound ? elf_check_header(v, name, err) : uft_fail(err, -ENOMEM, "%s: no memory", name);
	if (ret)
		goto fail;
	elf_read_sections(v);
	if (v->eh.e_type == ET_REL) {
		if (v->nsh)
			return 0;
		ret = uft_fail(err, -ENOEXEC, "%s: damaged ELF file: an object without section headers", name);
		goto fail;
	}
	if (!v->eh.e_phnum || v->eh.e_phentsize != sizeof(Elf64_Phdr)) {
		ret = uft_fail(err, -ENOEXEC, "%s: damaged ELF file: no program headers", name);
		goto fail;
	}
	if (v->eh.e_phnum > ELF_MAX_SEGMENTS) {
		ret = uft_fail(err, -ENOEXEC, "%s: damaged ELF file: %u program headers", name, v->eh.e_phnum);
		goto fail;
	}
	v->ph = elf_copy_table(v, v->eh.e_phoff, v->eh.e_phnum, sizeof(Elf64_Phdr));
	if (!v->ph) {
		ret = uft_fail(err, -ENOEXEC, "%s: damaged ELF file: its program headers lie outside the file", name);
		goto fail;
	}
	v->nph = v->eh.e_phnum;
	for (i = 0; i < v->nph; i++)
		if (v->ph[i].p_type == PT_INTERP)
			v->has_interp = 1;
	for (i = 0; i < v->nph; i++)
		if (v->ph[i].p_type == PT_DYNAMIC) {
			elf_read_dynamic(v, &v->ph[i]);
			break;
		}
	return 0;
fail:
	elf_close(v);
	return ret;
}

int elf_open_file(const char *path, const char *name, struct stat *st, struct uft_error *err)
{
	int fd = open_regular(path, OPEN_FOLLOW, st), ret;

	if (fd == -EISDIR || fd == -ENODEV)
		return uft_fail(err, -ENOEXEC, "%s: not an ELF file but a %s", name,
				fd == -EISDIR ? "directory" : "special file");
	if (fd < 0)
		return uft_fail(err, fd, "%s: %s", name, strerror(-fd));
	ret = !st->st_size ? uft_fail(err, -ENOEXEC, "%s: not an ELF file: it is empty", name) :
	      is_hollow(st) ? uft_fail(err, -EFBIG, "%s: not read: nearly all of its %lld MB were never written", name,
				       (long long)st->st_size >> 20) : 0;
	if (ret)
		close(fd);
	return ret ? ret : fd;
}

/* Bytes of the open copies of files. */
static size_t copied;

static void drop_copy(const void *data, size_t size)
{
	free((void *)data);
	__atomic_fetch_sub(&copied, size, __ATOMIC_RELAXED);
}

/* Copies the present bytes, because the file's owner may change them later. */
static int copy_file(int fd, size_t size, const char *name, const uint8_t **data, struct uft_error *err)
{
	size_t have = 0;
	uint8_t *to;
	ssize_t n;

	if (__atomic_fetch_add(&copied, size, __ATOMIC_RELAXED) + size > ELF_COPIES_MAX_BYTES) {
		__atomic_fetch_sub(&copied, size, __ATOMIC_RELAXED);
		return uft_fail(err, -EFBIG,
				"%s: not read: another user can change it, and with it more than %llu MB of such files would be copied",
				name, ELF_COPIES_MAX_BYTES >> 20);
	}
	to = malloc(size);
	while (to && have < size &&
	       ((n = pread(fd, to + have, size - have, (off_t)have)) > 0 || (n < 0 && errno == EINTR)))
		have += n > 0 ? (size_t)n : 0;
	*data = to;
	if (to && have == size)
		return 0;
	drop_copy(to, size);
	return uft_fail(err, to ? -EIO : -ENOMEM, "%s: %s", name, to ? "cannot be read as a whole" : "no memory");
}

static int take_file(int fd, const struct stat *st, const char *name, const uint8_t **data, enum elf_memory *memory,
		     struct uft_error *err)
{
	const size_t size = (size_t)st->st_size;
	int ret = 0;

	*memory = can_others_write(fd, st) /* GUARD(copies_of_others) */ ? ELF_COPIED : ELF_MAPPED;
	if (*memory == ELF_COPIED) {
		ret = copy_file(fd, size, name, data, err);
	} else {
		*data = guard_map(fd, size);
		if (!*data)
			ret = uft_fail(err, -errno, "%s: cannot map: %s", name, strerror(errno));
	}
	close(fd);
	return ret;
}

int elf_map_file(const char *path, const uint8_t **data, size_t *size, enum elf_memory *memory, struct uft_error *err)
{
	struct stat st;
	int fd = elf_open_file(path, path, &st, err);

	if (fd < 0)
		return fd;
	*size = (size_t)st.st_size;
	return take_file(fd, &st, path, data, memory, err);
}

void elf_unmap(const void *data, size_t size, enum elf_memory memory)
{
	if (memory == ELF_MAPPED)
		guard_unmap(data, size);
	else if (memory == ELF_COPIED)
		drop_copy(data, size);
	else if (memory == ELF_MALLOCED)
		free((void *)data);
}

int elf_open_fd(struct elf_view *v, int fd, const struct stat *st, const char *name, struct uft_error *err)
{
	enum elf_memory memory;
	const uint8_t *data;
	int ret = take_file(fd, st, name, &data, &memory, err);

	return ret ? ret : elf_open_memory(v, data, (size_t)st->st_size, memory, name, err);
}

int elf_open(struct elf_view *v, const char *path, struct uft_error *err)
{
	struct stat st;
	int fd = elf_open_file(path, path, &st, err);

	return fd < 0 ? fd : elf_open_fd(v, fd, &st, path, err);
}

void elf_close(struct elf_view *v)
{
	bound_free(v->ph);
	bound_free(v->sh);
	bound_put(v->bound);
	elf_unmap(v->data, v->size, v->memory);
	memset(v, 0, sizeof(*v));
}

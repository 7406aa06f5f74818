/* SPDX-License-Identifier: MIT */
/*
 * object.c - ELF files as the rest of uft sees them
 *
 * What it is: an object is one ELF file, read once: executable ranges when opened, sites on demand (sites.c, relobj.c),
 * functions with names on demand (symtab.c, debugfile.c). It is not a loaded thing: addresses are those of the file, an
 * image (image.c) adds the bias.
 *
 * Ownership: an object is reference counted; the last uft_object_put() frees it. Names point into the mapped file or
 * the object's string pool, so they live as long as the object. A list of open objects (the only global here, under
 * object_lock) makes a second open of an unchanged file return the same object: a hundred processes of one program
 * share one symbol table.
 *
 * Concurrency: open, get, put and sites may be called from any thread. Names of one object must not be read in two
 * threads at a time, nor beside sites; afterwards readers need no lock, because the object does not change any more.
 *
 * Invariants: text, func and site are sorted by address (tests/unit/symbol); every byte read was checked against the
 * file's size (tests/fuzz/elf); memory and work for a file are bounded (parse_bound.h).
 *
 * Failure: a file that cannot be used is refused with a sentence; a damaged part of a usable file (a section table, a
 * symbol table) counts as absent. The file stays mapped; parts that it loses meanwhile read as zeros (guard_map.h). A
 * file that another user can change is copied, and read from the copy (elf_map_file()).
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/guard_map.h"
#include "symbol/names.h"
#include "runtime/arch/x86_64/encode.h"
#include "symbol/image.h"
#include "symbol/keyed_hash.h"
#include "symbol/object_internal.h"
#include "symbol/open_regular.h"
#include "symbol/sorted.h"
#include "symbol/unwind.h"

static pthread_mutex_t object_lock = PTHREAD_MUTEX_INITIALIZER;
static struct uft_object *object_list;	/* all objects with a file of their own; under object_lock */

/* ---- Life ------------------------------------------------------------------------------------ */

static void object_free(struct uft_object *obj)
{
	struct object_priv *priv = object_priv(obj);
	unsigned i;

	if (priv) {
		for (i = 0; i < priv->nextra; i++)
			elf_close(&priv->extra[i]);
		elf_close(&priv->view);
		str_pool_free(&priv->pool);
		bound_free(priv->rel_addr);
		free(priv);
	}
	bound_free(obj->text);
	bound_free(obj->func);
	bound_free(obj->site);
	bound_free(obj->init);
	free(obj->path);
	free(obj);
}

static struct uft_object *object_alloc(const char *path)
{
	struct uft_object *obj = calloc(1, sizeof(*obj));

	if (!obj)
		return NULL;
	obj->refs = 1;
	obj->path = strdup(path);
	obj->priv = calloc(1, sizeof(struct object_priv));
	if (!obj->path || !obj->priv) {
		object_free(obj);
		return NULL;
	}
	pthread_mutex_init(&object_priv(obj)->sites_lock, NULL);
	return obj;
}

static int object_add_text(struct uft_object *obj, const struct elf_view *v, struct uft_error *err)
{
	uint64_t bytes = 0;
	size_t i, k;

	obj->text = bound_zalloc(v->bound, "segments", v->nph + 1, sizeof(*obj->text));
	if (!obj->text)
		return -ENOMEM;
	obj->start = UINT64_MAX;
	for (i = 0; i < v->nph; i++) {
		const Elf64_Phdr *p = &v->ph[i];

		if (p->p_type == PT_DYNAMIC)
			obj->dynamic = p->p_vaddr;
		if (p->p_type == PT_LOAD && p->p_vaddr < obj->start)
			obj->start = p->p_vaddr;
		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || !p->p_memsz || p->p_vaddr + p->p_memsz < p->p_vaddr)
			continue;
		if (p->p_memsz > PARSE_MAX_TEXT - bytes)
			return uft_fail(err, -EFBIG, "%s: not read: it has more than %llu MB of code", obj->path,
					PARSE_MAX_TEXT >> 20);
		bytes += p->p_memsz;
		for (k = obj->ntext; k && obj->text[k - 1].addr > p->p_vaddr; k--)
			obj->text[k] = obj->text[k - 1];
		obj->text[k] = (struct uft_text){ p->p_vaddr, p->p_vaddr + p->p_memsz, p->p_offset };
		obj->ntext++;
	}
	return 0;
}

int object_from_view(struct elf_view *v, const char *path, struct uft_object **out, struct uft_error *err)
{
	struct uft_object *obj = object_alloc(path);
	int ret;

	if (!obj) {
		elf_close(v);
		return uft_fail(err, -ENOMEM, "%s: no memory", path);
	}
	object_priv(obj)->view = *v;
	object_priv(obj)->has_file = 1;
	object_priv(obj)->pool.limit = 4 * v->size + (1u << 20);
	object_priv(obj)->pool.bound = v->bound;
	obj->machine = v->eh.e_machine;
	obj->type = v->eh.e_type;
	obj->is_static = !v->has_interp && !v->has_needed;
	obj->entry = v->eh.e_entry;
	obj->build_id_len = elf_build_id(v, obj->build_id, sizeof(obj->build_id));
	if (obj->type == ET_REL)
		ret = object_rel_layout(obj, err);
	else
		ret = object_add_text(obj, v, err);
	if (ret) {
		object_free(obj);
		return ret;
	}
	*out = obj;
	return 0;
}

static int object_is_file(const struct uft_object *obj, const char *path, const struct stat *st)
{
	const struct object_priv *priv = object_priv(obj);

	return priv->dev == st->st_dev && priv->ino == st->st_ino && obj->file_bytes == (uint64_t)st->st_size &&
	       obj->mtime_ns == file_mtime_ns(st) && !strcmp(obj->path, path);
}

void uft_object_forked(void)
{
	pthread_mutex_init(&object_lock, NULL); /* GUARD(uft_object_forked_pthread_mutex_init) */
	object_list = NULL;
	guard_forked();
}

int uft_object_open(const char *path, struct uft_object **out, struct uft_error *err)
{
	return uft_object_open_as(path, path, out, err);
}

int uft_object_open_as(const char *file, const char *path, struct uft_object **out, struct uft_error *err)
{
	struct uft_object *obj;
	struct object_priv *priv;
	struct elf_view view;
	struct stat st;
	uint32_t owner;
	int fd, ret;

	*out = NULL;
	fd = elf_open_file(file, path, &st, err);
	if (fd < 0)
		return fd;
	pthread_mutex_lock(&object_lock);
	for (obj = object_list; obj && !object_is_file(obj, path, &st); obj = object_priv(obj)->next)
		;
	if (obj) {
		*out = uft_object_get(obj);
		pthread_mutex_unlock(&object_lock);
		close(fd);
		return 0;
	}
	owner = owner_of_file(fd, &st);
	ret = elf_open_fd(&view, fd, &st, path, err);
	if (!ret)
		ret = object_from_view(&view, path, out, err);
	if (!ret) {
		priv = object_priv(*out);
		priv->dev = st.st_dev;
		priv->ino = st.st_ino;
		(*out)->owner = owner;
		(*out)->file_bytes = (uint64_t)st.st_size;
		(*out)->mtime_ns = file_mtime_ns(&st);
		priv->next = object_list;
		object_list = *out;
	}
	pthread_mutex_unlock(&object_lock);
	return ret;
}

struct uft_object *uft_object_get(struct uft_object *obj)
{
	__atomic_add_fetch(&obj->refs, 1, __ATOMIC_RELAXED);
	return obj;
}

void uft_object_put(struct uft_object *obj)
{
	struct uft_object **p;

	if (!obj)
		return;
	/* The lock keeps an open call from finding an object whose count has just become 0. */
	pthread_mutex_lock(&object_lock);
	if (__atomic_sub_fetch(&obj->refs, 1, __ATOMIC_ACQ_REL)) {
		pthread_mutex_unlock(&object_lock);
		return;
	}
	for (p = &object_list; *p && *p != obj; p = &object_priv(*p)->next)
		;
	if (*p)
		*p = object_priv(obj)->next;
	pthread_mutex_unlock(&object_lock);
	object_free(obj);
}

/* ---- Objects without a file ------------------------------------------------------------------- */

struct uft_object *uft_object_make(const char *path, const uint8_t *build_id, uint32_t build_id_len)
{
	struct uft_object *obj = object_alloc(path);

	if (!obj)
		return NULL;
	obj->machine = EM_X86_64;
	obj->type = ET_DYN;
	obj->build_id_len = build_id_len < sizeof(obj->build_id) ? build_id_len : sizeof(obj->build_id);
	if (build_id)
		memcpy(obj->build_id, build_id, obj->build_id_len);
	object_priv(obj)->is_sorted = 1;
	object_priv(obj)->has_sites = object_priv(obj)->has_names = 1;
	return obj;
}

int uft_object_make_func(struct uft_object *obj, uint64_t addr, uint64_t size, const char *name, uint32_t flags)
{
	struct object_priv *priv = object_priv(obj);
	struct uft_func *f;
	char *copy = NULL;

	if (name) {
		copy = str_pool_copy(&priv->pool, name, strlen(name));
		if (!copy)
			return -ENOMEM;
	}
	if (!(obj->nfunc & (obj->nfunc - 1))) {		/* the array doubles at powers of two */
		f = bound_grow(priv->view.bound, "functions", obj->func, obj->nfunc ? 2 * obj->nfunc : 1, sizeof(*f));
		if (!f)
			return -ENOMEM;
		obj->func = f;
	}
	if (obj->nfunc && obj->func[obj->nfunc - 1].addr >= addr)
		priv->is_sorted = 0;
	obj->func[obj->nfunc++] = (struct uft_func){ addr, size, copy, flags };
	return 0;
}

void uft_object_sort(struct uft_object *obj)
{
	size_t i, n = 0;

	if (object_priv(obj)->is_sorted)
		return;
	SORT_BY(obj->func, obj->nfunc, addr);
	for (i = 0; i < obj->nfunc; i++)
		if (!n || obj->func[n - 1].addr != obj->func[i].addr)
			obj->func[n++] = obj->func[i];
	obj->nfunc = n;		/* the array stays larger than make_func() assumes */
	object_priv(obj)->is_sorted = 1;
}

/* ---- Questions -------------------------------------------------------------------------------- */

/* How many functions before the nearest start may contain an address: nested labels of assembly code. */
#define OBJECT_LOOK_BACK	4

/*
 * Copies with the same build-id are one object, whatever folders they are in: /usr/bin/git and /usr/lib/git-core/git, a
 * container's file and the host's.
 */
int uft_object_is_same(const struct uft_object *a, const struct uft_object *b)
{
	return a == b || (a->build_id_len == b->build_id_len && !memcmp(a->build_id, b->build_id, a->build_id_len) &&
			  !(a->build_id_len ? strcmp(uft_base_name(a->path), uft_base_name(b->path)) :
			    strcmp(a->path, b->path)));
}

uint64_t uft_object_hash(const struct uft_object *obj)
{
	return hash_words(hash_bytes(obj->build_id, obj->build_id_len),
			  hash_text(obj->build_id_len ? uft_base_name(obj->path) : obj->path));
}

const struct uft_func *uft_object_func(struct uft_object *obj, uint64_t addr)
{
	size_t lo, i;

	uft_object_sort(obj);
	lo = SORTED_FIRST(k, obj->nfunc, obj->func[k].addr > addr);
	if (!lo)
		return NULL;
	if (!obj->func[lo - 1].size)		/* size unknown: up to the next function, if that is in the same text */
		return !obj->ntext || object_text(obj, addr) == object_text(obj, obj->func[lo - 1].addr) ?
		       &obj->func[lo - 1] : NULL;
	for (i = 0; i < OBJECT_LOOK_BACK && i < lo; i++) {
		const struct uft_func *f = &obj->func[lo - 1 - i];

		if (addr - f->addr < f->size)
			return f;
	}
	return NULL;
}

uint64_t object_sym_addr(const struct uft_object *obj, const Elf64_Sym *s)
{
	const struct object_priv *priv = object_priv(obj);

	if (s->st_shndx == SHN_UNDEF)
		return ~0ull;
	if (obj->type != ET_REL)
		return s->st_value;
	if (s->st_shndx >= priv->view.nsh || priv->rel_addr[s->st_shndx] == ~0ull)
		return ~0ull;
	return priv->rel_addr[s->st_shndx] + s->st_value;
}

static int object_find_symbol(const struct uft_object *obj, const struct elf_symtab *t, const char *name,
			      uint64_t *value, uint64_t *size)
{
	Elf64_Sym s;
	size_t i;

	for (i = 1; i < t->n; i++) {
		elf_sym(t, i, &s);
		/* Nearly all names differ in their first letter. */
		if (s.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(s.st_info) == STT_TLS || s.st_name >= t->str.len ||
		    t->str.s[s.st_name] != *name || strcmp(elf_sym_name(t, &s), name))
			continue;
		*value = object_sym_addr(obj, &s);
		if (*value == ~0ull)
			continue;
		if (size)
			*size = s.st_size;
		return 1;
	}
	return 0;
}

uint64_t uft_object_symbol(struct uft_object *obj, const char *name, uint64_t *size)
{
	struct object_priv *priv = object_priv(obj);
	struct elf_symtab t;
	uint64_t value = 0;
	unsigned i;

	if (size)
		*size = 0;
	/* Searches the small table first, because the session mostly asks for exported symbols. */
	if (object_find_symbol(obj, &priv->view.dyn, name, &value, size))
		return value;
	elf_symtab_find(&priv->view, SHT_SYMTAB, &t);
	if (object_find_symbol(obj, &t, name, &value, size))
		return value;
	for (i = 0; i < priv->nextra; i++) {
		elf_symtab_find(&priv->extra[i], SHT_SYMTAB, &t);
		if (object_find_symbol(obj, &t, name, &value, size))
			return value;
	}
	return 0;
}

int uft_object_exports(struct uft_object *obj, const char *name)
{
	uint64_t value;

	return object_find_symbol(obj, &object_priv(obj)->view.dyn, name, &value, NULL);
}

int uft_object_imports(struct uft_object *obj, const char *name)
{
	return elf_symtab_has(&object_priv(obj)->view.dyn, name, 0);
}

size_t uft_object_landers(struct uft_object *obj, struct uft_range *out, size_t max)
{
	struct elf_view *v = &object_priv(obj)->view;
	struct uw_range range[16];
	struct elf_symtab t;
	size_t n;

	elf_symtab_find(v, SHT_SYMTAB, &t);
	if (t.n || obj->machine != EM_X86_64)
		return 0;
	n = uw_landers(v, range, max < 16 ? max : 16);
	for (size_t i = 0; i < n; i++)
		out[i] = (struct uft_range){ range[i].addr, range[i].size };
	return n;
}

int uft_object_unwind(struct uft_object *obj, struct uft_unwind **out, size_t *n)
{
	struct elf_view *v = &object_priv(obj)->view;
	struct uw_cie cie = { 0 };
	struct uw_list l = { 0 };
	int ret;

	*out = NULL;
	*n = 0;
	if (obj->type == ET_REL)
		return 0;
	ret = uw_functions(v, 0, &l);
	if (ret)
		return bound_error(v->bound, obj->path, "unwind entries", NULL);
	*out = bound_alloc(v->bound, "unwind entries", l.n + 1, sizeof(**out));
	for (size_t i = 0; *out && i < l.n; i++)
		*n += uw_details(v, &l.range[i], &cie, &(*out)[*n]);
	bound_free(l.range);
	return *out ? 0 : bound_error(v->bound, obj->path, "unwind entries", NULL);
}

const uint8_t *object_code(struct uft_object *obj, uint64_t addr, size_t *avail)
{
	struct elf_view *v = &object_priv(obj)->view;
	const struct uft_text *t;
	uint64_t off;

	if (obj->type != ET_REL)
		return elf_at(v, addr, avail);
	t = object_text(obj, addr);
	if (!t)
		return NULL;
	off = t->offset + (addr - t->addr);
	if (off >= v->size)
		return NULL;
	*avail = t->end - addr < v->size - off ? t->end - addr : v->size - off;
	return v->data + off;
}

/* Returns the bytes of bss from @addr on. */
static size_t object_zeros(const struct uft_object *obj, uint64_t addr)
{
	const struct elf_view *v = &object_priv(obj)->view;
	size_t i;

	for (i = 0; i < v->nph; i++) {
		const Elf64_Phdr *p = &v->ph[i];

		if (p->p_type == PT_LOAD && addr >= p->p_vaddr && addr - p->p_vaddr < p->p_memsz)
			return p->p_memsz - (addr - p->p_vaddr);
	}
	return 0;
}

size_t uft_object_read(struct uft_object *obj, uint64_t addr, void *buf, size_t len)
{
	size_t done = 0, n;

	while (done < len) {
		const uint8_t *p = object_code(obj, addr + done, &n);

		if (!p)
			n = object_zeros(obj, addr + done);
		if (!n)
			break;
		if (n > len - done)
			n = len - done;
		if (p)
			memcpy((char *)buf + done, p, n);
		else
			memset((char *)buf + done, 0, n);
		done += n;
	}
	return done;
}

static size_t object_section_of(const struct uft_object *obj, uint64_t addr)
{
	const struct object_priv *priv = object_priv(obj);
	const struct elf_view *v = &priv->view;
	size_t i;

	for (i = 1; i < v->nsh; i++) {
		uint64_t start = obj->type == ET_REL ? priv->rel_addr[i] : v->sh[i].sh_addr;

		if (v->sh[i].sh_flags & SHF_ALLOC && start != ~0ull && addr >= start && addr - start < v->sh[i].sh_size)
			return i;
	}
	return 0;
}

int object_in_plt(const struct uft_object *obj, uint64_t addr)
{
	size_t i = object_section_of(obj, addr);
	const char *name = i ? elf_section_name(&object_priv(obj)->view, i) : "";

	return !strncmp(name, ".plt", 4) || !strcmp(name, ".iplt");
}

/*
 * A section that a linker or a build made for code to be moved (trampolines, signal frames, alternatives) has a name
 * with a dot and without "text"; the kernel's recordmcount knows text sections by name, too. A section without a name
 * counts as text.
 */
int object_in_text(const struct uft_object *obj, uint64_t addr)
{
	size_t i = object_section_of(obj, addr);
	const char *name = i ? elf_section_name(&object_priv(obj)->view, i) : "";

	return name[0] != '.' || strstr(name, "text");
}

const char *uft_object_got(struct uft_object *obj, uint64_t slot)
{
	struct elf_view *v = &object_priv(obj)->view;
	const struct elf_relocs *tables[] = { &v->jmprel, &v->rela };
	size_t k, i;

	for (k = 0; k < 2; k++)
		for (i = 0; i < tables[k]->n; i++) {
			Elf64_Rela r;
			Elf64_Sym s;

			elf_rela(tables[k], i, &r);
			if (r.r_offset != slot || !ELF64_R_SYM(r.r_info) || ELF64_R_SYM(r.r_info) >= v->dyn.n)
				continue;
			elf_sym(&v->dyn, ELF64_R_SYM(r.r_info), &s);
			return elf_sym_name(&v->dyn, &s);
		}
	return NULL;
}

/* ---- Sites: shared by sites.c and relobj.c ---------------------------------------------------- */

struct uft_site *object_add_site(struct uft_object *obj, size_t *room, uint64_t addr, uint64_t func, unsigned kind,
				 unsigned len, unsigned source, unsigned skip)
{
	struct uft_site *s;
	const uint8_t *p;
	size_t avail;

	if (obj->nsite == *room) {
		size_t n = *room ? *room * 2 : 64;

		s = bound_grow(object_priv(obj)->view.bound, "sites", obj->site, n, sizeof(*s));
		if (!s)
			return NULL;
		obj->site = s;
		*room = n;
	}
	s = &obj->site[obj->nsite++];
	*s = (struct uft_site){ .addr = addr, .func = func, .kind = kind, .len = len, .source = source, .skip = skip };
	s->is_framed = kind == UFT_SITE_MCOUNT_CALL || kind == UFT_SITE_MCOUNT_NOP;
	if (kind == UFT_SITE_OWN_CALL && addr != func) {
		/* `push %rbp; mov %rsp,%rbp` is as long as endbr64, so the bytes decide. */
		p = addr - func == UFT_LEN_ENDBR ? object_code(obj, func, &avail) : NULL;
		s->is_framed = !p || avail < UFT_LEN_ENDBR || !uft_insn_is_endbr(p);
	}
	return s;
}

static int object_compare_site(const void *a, const void *b)
{
	const struct uft_site *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (x->skip != 0) - (y->skip != 0);		/* usable sites first */
}

void object_sort_sites(struct uft_object *obj)
{
	size_t i, n = 0;

	for (i = 1; i < obj->nsite && obj->site[i - 1].addr < obj->site[i].addr; i++)
		;
	if (i >= obj->nsite)
		return;
	qsort(obj->site, obj->nsite, sizeof(*obj->site), object_compare_site);
	/* One site an address. All dangling entries stand at 0, and each counts. */
	for (i = 0; i < obj->nsite; i++)
		if (!n || obj->site[n - 1].addr != obj->site[i].addr || obj->site[i].skip == UFT_SKIP_DANGLING)
			obj->site[n++] = obj->site[i];
	obj->nsite = n;
}

const char *uft_skip_text(enum uft_skip skip)
{
	static const char *const text[UFT_SKIP_NKINDS] = {
		[UFT_SKIP_NONE]		= "usable",
		[UFT_SKIP_NO_PAD]	= "no pad and no call: not compiled for tracing",
		[UFT_SKIP_PAD_SMALL]	= "pad too small: 5 bytes are needed (arm64, riscv64: 8, at a word)",
		[UFT_SKIP_DANGLING]	= "table entry without code: the linker dropped the function",
		[UFT_SKIP_BEFORE]	= "its pad lies before the entry, whose code is rewritten",
	};

	return skip < UFT_SKIP_NKINDS ? text[skip] : "unknown";
}

const char *uft_site_source_text(enum uft_site_source source)
{
	static const char *const text[] = {
		[UFT_FROM_EH_FRAME_HDR]	= "eh_frame_hdr",
		[UFT_FROM_EH_FRAME]	= "eh_frame",
		[UFT_FROM_SECTION]	= "section",
		[UFT_FROM_SYMBOL]	= "symbol",
		[UFT_FROM_RELOC]	= "relocation",
	};

	return source < sizeof(text) / sizeof(text[0]) ? text[source] : "unknown";
}

const char *uft_site_kind_name(enum uft_site_kind kind)
{
	static const char *const name[] = {
		[UFT_SITE_NONE]		= "none",
		[UFT_SITE_NOP]		= "nop",
		[UFT_SITE_NOPS]		= "nops",
		[UFT_SITE_FENTRY_CALL]	= "fentry-call",
		[UFT_SITE_MCOUNT_CALL]	= "mcount-call",
		[UFT_SITE_MCOUNT_NOP]	= "mcount-nop",
		[UFT_SITE_OWN_CALL]	= "own-call",
		[UFT_SITE_PREPAD]	= "prepad",
		[UFT_SITE_CODE]		= "code",
	};

	return kind < sizeof(name) / sizeof(name[0]) ? name[kind] : "unknown";
}

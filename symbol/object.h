/* SPDX-License-Identifier: MIT */
/*
 * object.h - an ELF file: its functions, names, executable ranges and patchable sites
 *
 * Addresses here are link-time virtual addresses (vaddr); an image (image.h) adds the load bias.
 * Objects are immutable once opened (sites and names are filled in on demand), shared by reference count,
 * and cached by path while the file behind it stays the same.
 */
#ifndef UFT_SYMBOL_OBJECT_H
#define UFT_SYMBOL_OBJECT_H

#include <stddef.h>
#include <stdint.h>

#include "uft/abi.h"
#include "symbol/error.h"

struct uft_func {
	uint64_t addr, size;
	const char *name;	/* as in the file (mangled); NULL: no name, shown as object+0xoffset. A duplicate
				 * has its source file or its address as a suffix: helper@a.c, helper@0x1140 */
	uint32_t flags;		/* enum uft_func_flags */
};
enum uft_func_flags {
	UFT_FUNC_LOCAL = 1,
	UFT_FUNC_DUPLICATE = 2,	/* name is not unique in the object */
	UFT_FUNC_CHOOSER = 4,	/* STT_GNU_IFUNC: called once, to choose the function of its name */
};

struct uft_text { uint64_t addr, end, offset; };	/* executable PT_LOAD */

/* How a site was found, for `uft sites`. */
enum uft_site_source { UFT_FROM_EH_FRAME_HDR, UFT_FROM_EH_FRAME, UFT_FROM_SECTION, UFT_FROM_SYMBOL, UFT_FROM_RELOC };

/* Why a function has no usable site. uft_skip_text() has the text of each. */
enum uft_skip {
	UFT_SKIP_NONE, UFT_SKIP_NO_PAD, UFT_SKIP_PAD_SMALL, UFT_SKIP_DANGLING,
	/* kind UFT_SITE_CODE: prepared by a pad of len bytes before the entry; relocate/ makes it usable */
	UFT_SKIP_BEFORE,
	UFT_SKIP_NKINDS
};

struct uft_site {
	uint64_t addr;		/* first byte to patch */
	uint64_t func;		/* entry of its function */
	uint8_t kind;		/* enum uft_site_kind of abi.h */
	uint8_t len;		/* bytes that may be changed */
	uint8_t source;		/* enum uft_site_source */
	uint8_t skip;		/* enum uft_skip; not NONE: listed, never patched */
	uint8_t is_framed;	/* 1: behind the prologue, at a call of mcount; 0: at the entry */
	/* enum uft_call_name: calls the function that the dynamic linker finds under the name; 0: not such a call */
	uint8_t call_name;
};

/* Bits. An object that exports one of these (own_calls) may get calls of other objects whose files name libc's. */
enum uft_call_name { UFT_CALLS_MCOUNT = 1, UFT_CALLS__MCOUNT = 2, UFT_CALLS_FENTRY = 4 };

struct uft_object {
	char *path;		/* as given */
	uint8_t build_id[32];
	uint32_t build_id_len;
	/* of its file when it was opened, or recorded; 0: a member of an archive, or unknown */
	uint64_t file_bytes, mtime_ns;
	uint32_t owner;		/* the user that can change the file, or UFT_OWNER_OURS (owner.h) */
	uint16_t machine;	/* EM_* */
	uint16_t type;		/* ET_EXEC, ET_DYN */
	int is_static;		/* no PT_INTERP and no dynamic needs */
	uint64_t entry;
	uint64_t start, dynamic;	/* lowest address that the file is mapped to; of PT_DYNAMIC, 0: none */
	struct uft_text *text; size_t ntext;
	struct uft_func *func; size_t nfunc;	/* by address, no overlaps with equal address */
	struct uft_site *site; size_t nsite;	/* by address; filled by uft_object_sites() */
	size_t nsections_pfe, nsections_mcount;	/* entries of the raw tables */
	size_t nbefore;		/* sites with UFT_SKIP_BEFORE; if any, no other unprepared code of the object is
				 * rewritten */
	size_t nunwind;		/* function starts in the unwind tables; filled by uft_object_sites() */
	int has_gmon;		/* for gprof: gmon.out lacks calls of mcount that are traced or became nops; filled
				 * by uft_object_sites() */
	/* instrumented code calls its functions to trace itself; filled by uft_object_sites() */
	int is_tracer;
	unsigned own_calls;	/* enum uft_call_name: that it defines and exports; filled by uft_object_sites() */
	/* by address: functions that the loader calls; filled by uft_object_inits() */
	uint64_t *init; size_t ninit;
	int has_inits;
	int refs;
	void *priv;
};

/*
 * Opens @path: a program, a library, or (type ET_REL) a relocatable object, whose executable sections are
 * laid out one behind the other from address 0.
 * -ENOEXEC not an ELF file or damaged, -EPFNOSUPPORT other architecture, -ENOENT ...
 */
int uft_object_open(const char *path, struct uft_object **out, struct uft_error *err);
/* The same for @file under the name @path, for a file whose name is gone. */
int uft_object_open_as(const char *file, const char *path, struct uft_object **out, struct uft_error *err);
struct uft_object *uft_object_get(struct uft_object *obj);
/* The hash is equal for objects that are the same by uft_object_is_same(); keyed_hash.h. */
uint64_t uft_object_hash(const struct uft_object *obj);
void uft_object_put(struct uft_object *obj);
/*
 * Call in a fork child that goes on to open objects, because another thread may have held the lock. Objects opened
 * before the fork must not be used.
 */
void uft_object_forked(void);

/*
 * Opens every ELF member of the ar archive @path in turn (path "lib.a(member.o)") and passes it to @fn, which takes a
 * reference to keep it. Stops when @fn returns not 0, and returns that; -ENOEXEC: no archive or damaged.
 */
int uft_archive_each(const char *path, int (*fn)(void *arg, struct uft_object *obj), void *arg,
		     struct uft_error *err);

/*
 * Finds the sites (design.md section 4: .eh_frame_hdr first). Idempotent; a second caller waits for the first. Cheap:
 * reads no names.
 */
int uft_object_sites(struct uft_object *obj, struct uft_error *err);

/* Returns how many functions the loader calls for the object, by its tables. Idempotent; for one thread. */
size_t uft_object_inits(struct uft_object *obj);
/* Is the function at vaddr @addr one of them? */
int uft_object_is_init(struct uft_object *obj, uint64_t addr);

/* Returns about how many sites a large prepared program has, before they are searched; 0: it is small, or unknown. */
size_t uft_object_expects(const struct uft_object *obj);

/*
 * Opens @path, its loader and the C library in a thread and finds their sites; for the last two it also calls @also.
 * They stay open until uft_prefetch_end(), which waits for the thread. NULL: not started.
 */
struct uft_prefetch *uft_prefetch_begin(const char *path, void (*also)(struct uft_object *obj));
void uft_prefetch_end(struct uft_prefetch *p);

/*
 * Loads the functions: .symtab, .dynsym, .gnu_debugdata, separate debug file; then unwind entries without a name.
 * Idempotent; only needed for names.
 */
int uft_object_names(struct uft_object *obj, struct uft_error *err);

/*
 * Is it the same file, opened again or by another process, or a copy of it in another folder? By name and build-id;
 * without one by path.
 */
int uft_object_is_same(const struct uft_object *a, const struct uft_object *b);

/* The function that contains vaddr @addr, or NULL. */
const struct uft_func *uft_object_func(struct uft_object *obj, uint64_t addr);

/*
 * Returns the value of a defined symbol (any table; not thread-local variables, which have no address), 0: none. @size
 * may be NULL.
 */
uint64_t uft_object_symbol(struct uft_object *obj, const char *name, uint64_t *size);

/* Returns 1 if the object has a dynamic symbol of that name, */
int uft_object_exports(struct uft_object *obj, const char *name);
/* or imports it from another object. */
int uft_object_imports(struct uft_object *obj, const char *name);

struct uft_range { uint64_t addr, size; };
/*
 * Returns the functions of an object without a symbol table that land in exception handlers, found by their unwind
 * tables: gcc's _Unwind_RaiseException, _Resume, _Resume_or_Rethrow and _ForcedUnwind, linked statically and stripped.
 * 0 for an object with symbols: search those by name. Returns how many, at most @max.
 */
size_t uft_object_landers(struct uft_object *obj, struct uft_range *out, size_t max);

/* Canonical frame address: the stack pointer before the call that entered the function. */
struct uft_cfa {
	uint64_t addr, end;	/* instructions for which the rule holds */
	int reg;		/* DWARF number: 6 rbp, 7 rsp; -1: an expression */
	int64_t offset;		/* CFA = reg + offset; */
	int is_indirect;	/* with reg -1: the CFA lies in memory at rbp + offset, and rbp was saved at rbp */
	int64_t fp;		/* rbp was saved at CFA + fp; 0: rbp is unchanged */
};

/* An unwind entry: a function, or a part of one. */
struct uft_unwind {
	uint64_t addr, size;
	uint64_t lsda;		/* vaddr of its table of exception handlers; 0: none */
	uint32_t flags;		/* enum uft_unwind_flags */
	uint32_t ninsn;
	const uint8_t *insn;	/* call frame instructions */
	uint64_t code_align;
	int64_t data_align;
	struct uft_cfa start;
};
enum uft_unwind_flags {
	UFT_UNWIND_SIGNAL = 1,		/* a signal frame's return */
	UFT_UNWIND_OUTERMOST = 2,	/* it has no caller: _start, the start of a thread */
	UFT_UNWIND_PART = 4,		/* it does not begin with the return address on top of the stack */
};

/*
 * Lists the unwind entries by address, each address once; free them by bound_free(). 0, also when there are none, or
 * -errno.
 */
int uft_object_unwind(struct uft_object *obj, struct uft_unwind **out, size_t *n);
/*
 * Calls @fn for each stretch of @u's code with one CFA rule, in order, until it returns not 0; returns that. Stops at
 * damaged instructions.
 */
int uft_unwind_each(const struct uft_unwind *u, int (*fn)(void *arg, const struct uft_cfa *cfa), void *arg);

/* Copies file contents at vaddr @addr (zero for bss). Returns bytes copied. */
size_t uft_object_read(struct uft_object *obj, uint64_t addr, void *buf, size_t len);

/*
 * Returns the name of the function that the PLT entry at @addr calls, or whose address GOT slot @slot gets; NULL: none.
 */
const char *uft_object_plt(struct uft_object *obj, uint64_t addr);
const char *uft_object_got(struct uft_object *obj, uint64_t slot);

/* Returns the path in PT_INTERP (a pointer into the object); NULL: no loader. */
const char *uft_object_interp(struct uft_object *obj);
/* Does the object's note say that it supports a shadow stack (CET)? */
int uft_object_is_shstk(struct uft_object *obj);
/* Writes in words where names come from. 2: all names, 1: exported ones only, 0: none. */
int uft_object_names_from(struct uft_object *obj, char *text, size_t size);

/* ET_REL: symbol of a relocation within [addr, addr + len) of code, or NULL. */
const char *uft_object_reloc(struct uft_object *obj, uint64_t addr, size_t len);

const char *uft_skip_text(enum uft_skip skip);
const char *uft_site_source_text(enum uft_site_source source);
const char *uft_site_kind_name(enum uft_site_kind kind);

#endif

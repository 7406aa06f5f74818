/* SPDX-License-Identifier: MIT */
/* names.h - demangling, globs, and the nearest name for an error message. Context: control. */
#ifndef UFT_SYMBOL_NAMES_H
#define UFT_SYMBOL_NAMES_H

#include <stddef.h>
#include <string.h>

#include "program/program.h"

/* Returns the part of a path behind its last slash. */
static inline const char *uft_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Replaces control bytes by '?', in place, so that the text may be shown on a terminal. */
void uft_name_clean(char *text);

/*
 * Demangles C++ (Itanium) and Rust (legacy and v0), with parameters so that overloads differ. Returns malloc'd text, or
 * NULL if @name is not mangled. The suffix of a duplicate (object.h) stays.
 */
char *uft_demangle(const char *name);

/*
 * How names are shown: short (`shop::Flat::sum`, no return type, no parameters, template arguments unless they are
 * wide), in full, or as the linker knows them. For the whole process; set it before names are resolved.
 */
enum uft_demangle_style { UFT_DEMANGLE_SHORT, UFT_DEMANGLE_FULL, UFT_DEMANGLE_NO };
void uft_demangle_set(enum uft_demangle_style style);
enum uft_demangle_style uft_demangle_get(void);
/* Returns the text to show for @raw in that style, malloc'd; NULL: @raw itself. */
char *uft_name_shown(const char *raw);
/* Makes a demangled text short, in place. */
void uft_name_shorten(char *text);

/* The kernel's filter glob: `*`, `?`, `[...]`, `[!...]`, `\`; anchored at both ends. 1 match, 0 not. */
static inline int uft_glob_match(const char *glob, const char *text)
{
	return uft_glob_bytes(glob, (const uint8_t *)text, SIZE_MAX);
}

/*
 * A filter word `glob[:mod:object-glob]` for functions. It is matched with the raw name, the demangled name with and
 * without parameters, without the return type (`std::*`), and in its short form, each also without the @file of a
 * duplicate; and with the object's base name with and without its .so suffix. An object glob with `!` in front means
 * all other objects. @demangled may be NULL.
 */
struct uft_pattern {
	char *func, *object;	/* object NULL: any */
};
int uft_pattern_parse(const char *text, struct uft_pattern *out);	/* 0 or -EINVAL */
void uft_pattern_free(struct uft_pattern *p);
/* Returns the length of a demangled name without its parameters; 0: it has none. */
size_t uft_name_length(const char *demangled);
/* Returns where the qualified name begins, behind the return type; 0: it has none. */
size_t uft_name_start(const char *demangled);
int uft_pattern_match(const struct uft_pattern *p, const char *raw, const char *demangled, const char *object);

/* Up to @max names nearest to @text (edit distance, common prefix), for "did you mean". Returns count. */
size_t uft_near(const char *text, const char *const *names, size_t n, const char **out, size_t max);

#endif

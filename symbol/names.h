/* SPDX-License-Identifier: MIT */
/* names.h - demangling, globs, and the nearest name for an error message. Context: control. */
#ifndef UFT_SYMBOL_NAMES_H
#define UFT_SYMBOL_NAMES_H

#include <stddef.h>
#include <string.h>

#include "program/program.h"

/* What stands behind the last slash of a path. */
static inline const char *uft_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Text as it may be shown on a terminal: control bytes become '?'. In place. */
void uft_name_clean(char *text);

/* C++ (Itanium) and Rust (legacy and v0), with parameters so that overloads differ. Returns malloc'd
 * text, or NULL if @name is not mangled. What a duplicate has behind its name (object.h) stays there. */
char *uft_demangle(const char *name);

/*
 * How names are shown: short (`shop::Flat::sum`, no return type, no parameters, template arguments while they
 * are not wide), in full, or as the linker knows them. Of the process; set before names are resolved.
 */
enum uft_demangle_style { UFT_DEMANGLE_SHORT, UFT_DEMANGLE_FULL, UFT_DEMANGLE_NO };
void uft_demangle_set(enum uft_demangle_style style);
enum uft_demangle_style uft_demangle_get(void);
/* The text to show for @raw in that style, malloc'd; NULL: @raw itself. */
char *uft_name_shown(const char *raw);
/* Makes a demangled text short, in place. */
void uft_name_shorten(char *text);

/* The kernel's filter glob: `*`, `?`, `[...]`, `[!...]`, `\`; anchored at both ends. 1 match, 0 not. */
static inline int uft_glob_match(const char *glob, const char *text)
{
	return uft_glob_bytes(glob, (const uint8_t *)text, SIZE_MAX);
}

/*
 * A filter token `glob[:mod:object-glob]` against a function: its raw name, demangled name with and without
 * parameters, without the return type (`std::*`), as it is shown in short, each also without the @file of a
 * duplicate, and the object's base name with and without its .so suffix. The object glob may begin with `!`:
 * any object but these. @demangled may be NULL.
 */
struct uft_pattern {
	char *func, *object;	/* object NULL: any */
};
int uft_pattern_parse(const char *text, struct uft_pattern *out);	/* 0 or -EINVAL */
void uft_pattern_free(struct uft_pattern *p);
/* Length of a demangled name without its parameters; 0: it has none. */
size_t uft_name_length(const char *demangled);
/* Where its qualified name begins, behind the return type; 0: it has none. */
size_t uft_name_start(const char *demangled);
int uft_pattern_match(const struct uft_pattern *p, const char *raw, const char *demangled, const char *object);

/* Up to @max names nearest to @text (edit distance, common prefix), for "did you mean". Returns count. */
size_t uft_near(const char *text, const char *const *names, size_t n, const char **out, size_t max);

#endif

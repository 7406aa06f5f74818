/* SPDX-License-Identifier: MIT */
/* demangle_cost.h - estimate the cost of demangling a hostile name before it is printed */
#ifndef UFT_SYMBOL_DEMANGLE_COST_H
#define UFT_SYMBOL_DEMANGLE_COST_H

#include <stddef.h>

struct demangle_component;

/* Is the time of parsing the C++ name @name of @len bytes at most linear? */
int demangle_parse_is_bounded(const char *name, size_t len);
/* Can printing the C++ name @name take more work than its text shows? Then its tree is checked first. */
int demangle_needs_tree(const char *name);
/* Is printing @name bounded, as far as its letters show? */
int demangle_is_plain(const char *name);
/* Is printing @root, the tree of @name, bounded and safe? Its nodes lie in @nodes, which has room for @n. */
int demangle_tree_is_bounded(const char *name, struct demangle_component *root, struct demangle_component *nodes,
			     size_t n);
/* Is demangling the Rust name @name (v0, _R...) bounded? */
int demangle_rust_is_bounded(const char *name);

#endif

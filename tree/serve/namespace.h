/* SPDX-License-Identifier: MIT */
/* namespace.h - a mount namespace with our tree in place of the kernel's tracing directory. Theory: namespace.c. */
#ifndef UFT_TREE_NAMESPACE_H
#define UFT_TREE_NAMESPACE_H

#include "symbol/error.h"
#include "tree/serve/fuse.h"

/* Takes the process into a mount namespace of its own, and a user namespace where it is not root. Before any thread. */
int uft_namespace_enter(struct uft_error *err);

/*
 * Serves @t at /sys/kernel/tracing and /sys/kernel/debug/tracing of this namespace, and the files of /proc that tools
 * use.
 */
int uft_namespace_mount(struct uft_tree *t, struct uft_fuse **out, struct uft_error *err);

/* Is there a mount of @name and @type at @dir? NULL: any. */
int uft_mount_exists(const char *dir, const char *name, const char *type);

#endif

/* SPDX-License-Identifier: MIT */
/* fuse.h - the tree as a mounted file system. Theory: fuse.c. Context: any thread, none of the tree's own. */
#ifndef UFT_TREE_FUSE_H
#define UFT_TREE_FUSE_H

#include "symbol/error.h"
#include "tree/tree.h"

struct uft_fuse;

struct uft_fuse_opts {
	/* other users may look; mode, owner and group decide about access, as in the kernel */
	int allow_other;
};

/*
 * Mounts @t at @dir and serves it from threads of its own. -ENOENT, -ENOTDIR, -EPERM, -ENODEV (this machine
 * has no FUSE) with the remedy. @t must stay until uft_fuse_stop().
 */
int uft_fuse_start(struct uft_tree *t, const char *dir, const struct uft_fuse_opts *opts, struct uft_fuse **out,
		   struct uft_error *err);
/* A descriptor that is readable (POLLIN) once the mount has ended, by umount or by a closed connection. */
int uft_fuse_gone_fd(const struct uft_fuse *f);
/*
 * Unmounts, answers every waiting reader, and frees @f. All handles are released when it returns. @is_mounted 0: the
 * directory was unmounted already, and another mount there is not ours.
 */
void uft_fuse_stop(struct uft_fuse *f, int is_mounted);

#endif

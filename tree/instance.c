/* SPDX-License-Identifier: MIT */
/* instance.c - directories that a user makes: none so far, so there is no place for them */
#include "tree/internal.h"

#include <errno.h>

int uft_tree_mkdir(struct uft_tree *t, uft_node dir, const char *name, uft_node *out)
{
	(void)t, (void)dir, (void)name, (void)out;
	return -EPERM;
}

int uft_tree_rmdir(struct uft_tree *t, uft_node dir, const char *name)
{
	(void)t, (void)dir, (void)name;
	return -EPERM;
}

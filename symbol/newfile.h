/* SPDX-License-Identifier: MIT */
/* newfile.h - files that uft makes for its user, in folders where other users may write, too */
#ifndef UFT_SYMBOL_NEWFILE_H
#define UFT_SYMBOL_NEWFILE_H

#include <stddef.h>

/**
 * uft_newfile_resolve - resolve a path: @out is @path without symbolic links in its last part
 * @why: unless NULL, set to the reason where errno alone would not say it
 *
 * Follows a link of the user or of root: another user could point it anywhere. Keeps a link of /proc (/dev/stdout),
 * because it leads to a file that is open already. Returns 0 or a negative errno: -EPERM a stranger's link. Context:
 * control.
 */
int uft_newfile_resolve(const char *path, char *out, size_t size, const char **why);

/**
 * uft_newfile_open - make a file for the user alone (0600), or open an existing file for writing
 * @flags:  O_APPEND or 0; the file is not truncated
 * @is_new: unless NULL, set to whether the file was made
 *
 * Links as above. An existing regular file must be the user's, with no other name elsewhere (-EPERM): a stranger could
 * read it, or it could be a file of the user in another place. From now on no other user may open it. A named pipe must
 * be the user's, who then waits for a reader. A lease is not waited for: -EAGAIN. Returns a descriptor or a negative
 * errno.
 */
int uft_newfile_open(const char *path, int flags, int *is_new, const char **why);

/**
 * uft_newfile_may_replace - may a new file take the place of the file at @path, which is not followed?
 *
 * A regular file may be replaced if it belongs to the user or to the owner of its directory: the kernel's rule for
 * opening files in sticky directories (fs.protected_regular), here for all directories. Otherwise root could replace
 * any file, and a stranger's file in /tmp would be lost. Returns 0, also if there is no file, or a negative errno:
 * -EPERM, with *why.
 */
int uft_newfile_may_replace(const char *path, const char **why);

#endif

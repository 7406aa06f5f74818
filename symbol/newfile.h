/* SPDX-License-Identifier: MIT */
/* newfile.h - files that uft makes for its user, in folders where others may write, too */
#ifndef UFT_SYMBOL_NEWFILE_H
#define UFT_SYMBOL_NEWFILE_H

#include <stddef.h>

/**
 * uft_newfile_resolve - where a path leads to: @out is it without symbolic links in its last part
 * @why: unless NULL, set to what is wrong where errno alone would not say it
 *
 * A link is followed if it is the user's own or root's: another user could turn it anywhere. One of /proc
 * (/dev/stdout) stays, as it leads to what is open already. Returns 0 or a negative errno: -EPERM a
 * stranger's link. Context: control.
 */
int uft_newfile_resolve(const char *path, char *out, size_t size, const char **why);

/**
 * uft_newfile_open - make a file for the user alone (0600), or open what stands there, to be written
 * @flags:  O_APPEND or 0; nothing is cut off
 * @is_new: unless NULL, set to whether the file was made
 *
 * Links as above. A regular file that is there must be the user's, with no other name elsewhere (-EPERM): it
 * could be read by a stranger, or be the user's of another place; from now on nobody else may open it. A named pipe
 * must be the user's, who then waits until somebody reads it. No lease is waited for: -EAGAIN.
 * Returns a descriptor or a negative errno.
 */
int uft_newfile_open(const char *path, int flags, int *is_new, const char **why);

/**
 * uft_newfile_may_replace - may a new file take the place of what stands at @path, which is not followed?
 *
 * A regular file is replaced if it is the user's or belongs to the owner of its directory: the kernel's rule for files
 * that are opened in sticky directories (fs.protected_regular), here in all. Root could replace any, and the file of
 * a stranger in /tmp would be lost. Returns 0, also if nothing is there, or a negative errno: -EPERM, with *why.
 */
int uft_newfile_may_replace(const char *path, const char **why);

#endif

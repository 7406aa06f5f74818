/* SPDX-License-Identifier: MIT */
/*
 * discard.h - remove an incomplete output file, which could be mistaken for a complete one
 */
#ifndef UFT_OUTPUT_DISCARD_H
#define UFT_OUTPUT_DISCARD_H

struct stat;

/**
 * output_discard - no contents are left of @file, the regular file that was written under the name @path
 *
 * The name goes, too, if it is the file's own. One that leads to it (a symbolic link, /dev/stdout) is not
 * ours and stays. Nothing is done to a file that has taken the name meanwhile. Context: any, signal handlers
 * included; may change errno.
 */
void output_discard(const char *path, const struct stat *file);

#endif

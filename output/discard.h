/* SPDX-License-Identifier: MIT */
/*
 * discard.h - remove an incomplete output file, which could be mistaken for a complete one
 */
#ifndef UFT_OUTPUT_DISCARD_H
#define UFT_OUTPUT_DISCARD_H

struct stat;

/**
 * output_discard - empty @file, a regular file that was written under the name @path
 *
 * Removes the name, too, if it is the file's own. A name that leads to it (a symbolic link, /dev/stdout) belongs to
 * others and stays. A file that has taken the name meanwhile is not touched. Context: any, signal handlers included;
 * may change errno.
 */
void output_discard(const char *path, const struct stat *file);

#endif

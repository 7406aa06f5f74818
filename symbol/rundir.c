/* SPDX-License-Identifier: MIT */
/* rundir.c - see rundir.h */
#include "symbol/rundir.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Is it a folder of the user, not a link, that no other user may enter? */
static int is_own(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077);
}

/*
 * Finds the folder that an earlier command made, the first by name. @out holds its name up to the dot, @size bytes in
 * all. 1: found.
 */
static int find_other(const char *parent, char *out, size_t size, size_t len)
{
	const char *prefix = out + strlen(parent) + 1;
	size_t nprefix = len - strlen(parent) - 1;
	char best[16] = "";
	DIR *d = opendir(parent);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		const char *end = e->d_name + nprefix;

		if (strncmp(e->d_name, prefix, nprefix) || strlen(end) >= sizeof(best) || len + strlen(end) >= size ||
		    (best[0] && strcmp(end, best) > 0))
			continue;
		snprintf(out + len, size - len, "%s", end);
		if (is_own(out))
			snprintf(best, sizeof(best), "%s", end);
		out[len] = '\0';
	}
	if (d)
		closedir(d);
	snprintf(out + len, size - len, "%s", best);
	return best[0] != '\0';
}

int uft_rundir(const char *parent, char *out, size_t size)
{
	int n = snprintf(out, size, "%s/uft-%u", parent, geteuid());

	if (n < 0 || (size_t)n + sizeof(".XXXXXX") > size)
		return -ENAMETOOLONG;
	if (mkdir(out, 0700) == 0 || (errno == EEXIST && is_own(out)))
		return 0;
	if (errno != EEXIST)
		return -errno;
	strcat(out, ".");
	if (find_other(parent, out, size, (size_t)n + 1))
		return 0;
	strcat(out, "XXXXXX");
	return mkdtemp(out) ? 0 : -errno;
}

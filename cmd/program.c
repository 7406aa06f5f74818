// SPDX-License-Identifier: MIT
/* program.c - see program.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/program.h"

int cmd_find_program(const char *name, char *path, size_t size)
{
	const char *dirs = strchr(name, '/') ? "" : getenv("PATH");
	int status = 127;

	if (!dirs)
		dirs = "/usr/local/bin:/usr/bin:/bin";
	for (;;) {
		size_t len = strcspn(dirs, ":");
		struct stat st;

		if (strchr(name, '/'))
			snprintf(path, size, "%s", name);
		else
			snprintf(path, size, "%.*s/%s", len ? (int)len : 1, len ? dirs : ".", name);
		if (stat(path, &st) == 0) {
			if (S_ISREG(st.st_mode) && access(path, X_OK) == 0)
				return 0;
			status = 126;
		}
		if (!dirs[len])
			return status;
		dirs += len + 1;
	}
}

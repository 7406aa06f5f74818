// SPDX-License-Identifier: MIT
/* program.c - see program.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
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

int cmd_need_program(const char *command, const char *name, char *path, size_t size)
{
	int status = cmd_find_program(name, path, size);

	if (status == 127 && !strchr(name, '/') && access(name, F_OK) == 0)
		cmd_fail(command, "PATH has no program '%s'; the file here is ./%s", name, name);
	else if (status == 127)
		cmd_fail(command, "cannot find the program '%s'", name);
	else if (status)
		cmd_fail(command, "'%s' cannot be executed: not a file with the right to execute it", name);
	return status;
}

/* SPDX-License-Identifier: MIT */
/* map_files.h - the files that a process has mapped. Context: control. */
#ifndef UFT_CONTROL_MAP_FILES_H
#define UFT_CONTROL_MAP_FILES_H

#include "control/proc/proc.h"

/* Opens a file by the path that the process uses; its root may be another. */
int map_files_open(pid_t pid, const char *path, struct uft_object **out, struct uft_error *err);
/* Its program; @path gets the name. */
int map_files_open_exe(pid_t pid, char *path, size_t size, struct uft_object **out, struct uft_error *err);
/* Is what the process has mapped at @bias the file @obj? */
int map_files_are_mapped(pid_t pid, struct uft_object *obj, uint64_t bias);

struct map_files {				/* of @pid; the rest is read when it is asked for */
	pid_t pid;
	struct files_map {
		uint64_t start, end;
		char *path;
	} *map;				/* by address */
	size_t n;
	uint64_t vdso, vdso_end;	/* which has no file; 0 not seen */
	int is_read_again;
};

/* The file that is mapped at @addr. -ENXIO: none; -ENOENT: it has gone, and we may not read it any more. */
int map_files_open_at(struct map_files *files, uint64_t addr, struct uft_object **out, struct uft_error *err);
const char *map_files_name_at(struct map_files *files, uint64_t addr);
void map_files_close(struct map_files *files);

#endif

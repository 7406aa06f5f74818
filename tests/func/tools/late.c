/* SPDX-License-Identifier: MIT */
/*
 * late.c LIBRARY FILE - loads the library and calls its late_work() until the file exists, for 100 s at most;
 * its process number first
 */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	void *library = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int (*work)(int) = NULL;

	if (library)
		*(void **)&work = dlsym(library, "late_work");
	if (!work)
		return 1;
	printf("%d\n", getpid());
	fflush(stdout);
	for (int i = 0; i < 10000 && access(argv[2], F_OK); i++) {
		if (work(i) != i + 1)
			return 2;
		usleep(10000);
	}
	puts("end");
	return 0;
}

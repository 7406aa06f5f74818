// SPDX-License-Identifier: MIT
/*
 * crowd.c - a fork child that gave up its rights says that it has more libraries than its parent may have
 *
 * Usage: crowd FILLER LATER. The child maps the library FILLER at 1,100 places, makes a list of them in its loader's, and has the
 * loader's hook tell the recorder. Then the parent loads LATER and calls later() 100 times. Exit status: 0; 2 it could not be tried.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLACES	1100
#define OTHER	65534		/* a user */

__attribute__((noinline)) int worker(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

/* Never returns. */
static void crowd(const char *filler)
{
	static struct link_map fake[PLACES];
	struct link_map *first = _r_debug.r_map;
	struct stat st;
	int fd;

	if (setgid(OTHER) || setuid(OTHER))
		_exit(2);
	worker(1);		/* it is a target from here on */
	fd = open(filler, O_RDONLY);
	if (fd < 0 || fstat(fd, &st))
		_exit(2);
	for (int i = 0; i < PLACES; i++) {
		char *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);

		if (at == MAP_FAILED)
			_exit(2);
		fake[i] = (struct link_map){ .l_addr = (ElfW(Addr))at, .l_name = (char *)filler,
			.l_ld = (void *)(at + 64), .l_next = i ? &fake[i - 1] : NULL };
	}
	while (first->l_next)
		first = first->l_next;
	first->l_next = &fake[PLACES - 1];
	((void (*)(void))_r_debug.r_brk)();
	_exit(0);
}

int main(int argc, char **argv)
{
	int (*later)(int), status, n = 0;
	void *lib;
	pid_t pid;

	if (argc < 3 || geteuid())
		return 2;
	n = worker(0);
	pid = fork();
	if (!pid)
		crowd(argv[1]);
	if (waitpid(pid, &status, 0) != pid || status)
		return 2;
	lib = dlopen(argv[2], RTLD_NOW);
	later = lib ? (int (*)(int))dlsym(lib, "later") : NULL;
	for (int i = 0; later && i < 100; i++)
		n = later(n);
	return later && n > 0 ? 0 : 2;
}

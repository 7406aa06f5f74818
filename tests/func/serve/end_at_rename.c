// SPDX-License-Identifier: MIT
/* end_at_rename.c - preloaded into uft: a signal that ends it comes when its socket has got its name */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int rename(const char *from, const char *to)
{
	int (*real)(const char *from, const char *to), ret;
	const char *sig = getenv("END_BY");

	*(void **)&real = dlsym(RTLD_NEXT, "rename");
	ret = real(from, to);
	if (sig && strstr(to, ".sock"))
		kill(getpid(), atoi(sig));
	return ret;
}

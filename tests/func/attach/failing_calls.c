/* SPDX-License-Identifier: MIT */
/*
 * failing_calls.c - loaded into uft: its calls of one kind are counted, and one of them fails
 *
 * FAIL_KIND: memory (malloc, calloc, realloc), mmap, ptrace, or death, where no ptrace fails by us, but its process is
 * killed just before; FAIL_AT: which one fails, from 1 on, of the first process alone, whose forks (the guard) are spared;
 * FAIL_TO: a file that gets how many there were until then, at each call, and that has the number of the one that fails
 * behind that: it may be changed while uft runs.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

enum kind { MEMORY = 1, MMAP, PTRACE, DEATH };
static enum kind kind;
static pid_t first;
static atomic_long *count, spare[2];	/* so far; which one fails */

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

__attribute__((constructor)) static void begin(void)
{
	const char *what = getenv("FAIL_KIND"), *which = getenv("FAIL_AT"), *to = getenv("FAIL_TO");
	int fd = to ? open(to, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;

	count = spare;
	if (fd >= 0 && !ftruncate(fd, sizeof(spare)))
		count = (void *)syscall(SYS_mmap, NULL, sizeof(spare), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	count[1] = which ? atol(which) : 0;
	first = getpid();
	kind = !what ? 0 : !strcmp(what, "memory") ? MEMORY : !strcmp(what, "mmap") ? MMAP : !strcmp(what, "death") ?
		DEATH : PTRACE;
}

static int fails(enum kind k)
{
	return k == kind && syscall(SYS_getpid) == first && atomic_fetch_add(count, 1) + 1 == count[1];
}

void *malloc(size_t n)
{
	errno = ENOMEM;
	return fails(MEMORY) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	errno = ENOMEM;
	return fails(MEMORY) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	errno = ENOMEM;
	return fails(MEMORY) ? NULL : __libc_realloc(p, n);
}

static void *map(void *p, size_t n, int prot, int flags, int fd, off_t offset)
{
	if (fails(MMAP)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return (void *)syscall(SYS_mmap, p, n, prot, flags, fd, offset);
}

void *mmap(void *p, size_t n, int prot, int flags, int fd, off_t offset)
{
	return map(p, n, prot, flags, fd, offset);
}

/* The name that -D_FILE_OFFSET_BITS=64 makes of it. */
void *mmap64(void *p, size_t n, int prot, int flags, int fd, off_t offset)
{
	return map(p, n, prot, flags, fd, offset);
}

long ptrace(enum __ptrace_request request, ...)
{
	static long (*next)(int, pid_t, void *, void *);
	va_list ap;
	pid_t pid;
	void *addr, *data;

	va_start(ap, request);
	pid = va_arg(ap, pid_t);
	addr = va_arg(ap, void *);
	data = va_arg(ap, void *);
	va_end(ap);
	if (fails(PTRACE)) {
		errno = ESRCH;
		return -1;
	}
	if (fails(DEATH)) {
		kill(pid, SIGKILL);
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	}
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "ptrace");
	return next((int)request, pid, addr, data);
}

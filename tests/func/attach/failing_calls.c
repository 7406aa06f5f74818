/* SPDX-License-Identifier: MIT */
/*
 * failing_calls.c - loaded into uft: its calls of one kind are counted, and one of them fails
 *
 * FAIL_KIND: memory (malloc, calloc, realloc, and what the C library makes of them: reallocarray, strdup, strndup,
 * asprintf, open_memstream, whose places are in uft, not in the library), mmap, ptrace, or death, where no ptrace fails by us, but its process is
 * killed just before; FAIL_EXE: the file of uft, since programs that uft starts load this as well, and are spared;
 * FAIL_AT: which one fails, from 1 on, of the first process alone, whose forks (the guard) are spared; FAIL_FORKS: of those
 * alone;
 * FAIL_TO: a file that gets how many there were until then, at each call, and that has the number of the one that fails
 * behind that: it may be changed while uft runs. Behind both, for each place in uft that made such a call, its offset in
 * the program and how often it did; FAIL_SITE: the places whose first call fails, in place of FAIL_AT: PLACE[,PLACE]
 * or those from one to another: LOW-HIGH.
 *
 * A fork of uft that executes a program gets a signal before, which that ignores: its tracer sees one more stop.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/ptrace_args.h"

enum kind { MEMORY = 1, MMAP, PTRACE, DEATH };
static enum kind kind;
static pid_t first;
#define SITES	1024
static struct calls {
	atomic_long so_far, fails_at;
	struct { atomic_ulong at, n; } site[SITES];	/* hashed */
} *calls, spare;
static unsigned long fails_in[2], fails_from, fails_to, text_low, text_high;
static int in_forks;

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

/* Of the program, which comes first. */
static int find_text(struct dl_phdr_info *info, size_t n, void *arg)
{
	(void)n, (void)arg;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
			text_low = info->dlpi_addr;
			text_high = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
		}
	return 1;
}

static int is_uft(void)
{
	const char *exe = getenv("FAIL_EXE");
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path));

	return exe && n > 0 && (size_t)n == strlen(exe) && !memcmp(path, exe, (size_t)n);
}

__attribute__((constructor)) static void begin(void)
{
	const char *what = getenv("FAIL_KIND"), *which = getenv("FAIL_AT"), *where = getenv("FAIL_SITE"),
		*to = getenv("FAIL_TO");
	int fd = to && is_uft() ? open(to, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;

	calls = &spare;
	if (!is_uft())
		return;
	if (fd >= 0 && !ftruncate(fd, sizeof(spare)))
		calls = (void *)syscall(SYS_mmap, NULL, sizeof(spare), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	dl_iterate_phdr(find_text, NULL);
	calls->fails_at = which ? atol(which) : 0;
	if (where && sscanf(where, "%lx-%lx", &fails_from, &fails_to) < 2)
		sscanf(where, "%lx,%lx", &fails_in[0], &fails_in[1]);
	if (!fails_to)
		fails_from = 0;
	in_forks = getenv("FAIL_FORKS") != NULL;
	first = getpid();
	kind = !what ? 0 : !strcmp(what, "memory") ? MEMORY : !strcmp(what, "mmap") ? MMAP : !strcmp(what, "death") ?
		DEATH : PTRACE;
}

/* How often it has called, with this time; 0: it is not uft's. */
static unsigned long count_site(unsigned long at)
{
	if (at < text_low || at >= text_high)
		return 0;
	at -= text_low;
	for (unsigned long i = at, tried = 0; tried < SITES; tried++, i++) {
		unsigned long none = 0;

		if (atomic_compare_exchange_strong(&calls->site[i % SITES].at, &none, at) || none == at)
			return atomic_fetch_add(&calls->site[i % SITES].n, 1) + 1;
	}
	return 0;
}

static int fails(enum kind k, void *from)
{
	const unsigned long at = (unsigned long)(uintptr_t)from;
	unsigned long n;

	if (k != kind || (syscall(SYS_getpid) != first) != in_forks)
		return 0;
	n = count_site(at);
	return (atomic_fetch_add(&calls->so_far, 1) + 1 == calls->fails_at) |
	       (n == 1 && (at - text_low == fails_in[0] || at - text_low == fails_in[1] ||
			   (at - text_low > fails_from && at - text_low <= fails_to)));
}

#define FAILS(k)	fails(k, __builtin_return_address(0))

void *malloc(size_t n)
{
	errno = ENOMEM;
	return FAILS(MEMORY) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	errno = ENOMEM;
	return FAILS(MEMORY) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	errno = ENOMEM;
	return FAILS(MEMORY) ? NULL : __libc_realloc(p, n);
}

void *reallocarray(void *p, size_t n, size_t size)
{
	size_t bytes;

	errno = ENOMEM;
	return __builtin_mul_overflow(n, size, &bytes) || FAILS(MEMORY) ? NULL : __libc_realloc(p, bytes);
}

static char *copy(const char *s, size_t n)
{
	char *p = __libc_malloc(n + 1);

	if (!p)
		return NULL;
	p[n] = 0;
	return memcpy(p, s, n);
}

char *strdup(const char *s)
{
	errno = ENOMEM;
	return FAILS(MEMORY) ? NULL : copy(s, strlen(s));
}

char *strndup(const char *s, size_t n)
{
	errno = ENOMEM;
	return FAILS(MEMORY) ? NULL : copy(s, strnlen(s, n));
}

/* Inlined, so that the place of the failure is the caller's. */
static inline __attribute__((always_inline)) int print(char **p, const char *format, va_list ap)
{
	errno = ENOMEM;
	return FAILS(MEMORY) ? -1 : vasprintf(p, format, ap);
}

int asprintf(char **p, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = print(p, format, ap);
	va_end(ap);
	return n;
}

int __asprintf_chk(char **p, int flag, const char *format, ...)
{
	va_list ap;
	int n;

	(void)flag;
	va_start(ap, format);
	n = print(p, format, ap);
	va_end(ap);
	return n;
}

FILE *open_memstream(char **p, size_t *n)
{
	static FILE *(*next)(char **, size_t *);

	if (FAILS(MEMORY)) {
		errno = ENOMEM;
		return NULL;
	}
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "open_memstream");
	return next(p, n);
}

static void *map(void *p, size_t n, int prot, int flags, int fd, off_t offset, void *from)
{
	if (fails(MMAP, from)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return (void *)syscall(SYS_mmap, p, n, prot, flags, fd, offset);
}

void *mmap(void *p, size_t n, int prot, int flags, int fd, off_t offset)
{
	return map(p, n, prot, flags, fd, offset, __builtin_return_address(0));
}

/* The name that -D_FILE_OFFSET_BITS=64 makes of it. */
void *mmap64(void *p, size_t n, int prot, int flags, int fd, off_t offset)
{
	return map(p, n, prot, flags, fd, offset, __builtin_return_address(0));
}

long ptrace(enum __ptrace_request request, ...)
{
	static long (*next)(int, pid_t, void *, void *);
	struct ptrace_args a;
	va_list ap;

	va_start(ap, request);
	a = ptrace_args(ap);
	va_end(ap);
	if (FAILS(PTRACE)) {
		errno = ESRCH;
		return -1;
	}
	if (FAILS(DEATH)) {
		kill(a.pid, SIGKILL);
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	}
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "ptrace");
	return next((int)request, a.pid, a.addr, a.data);
}

int execv(const char *path, char *const argv[])
{
	if (kind && syscall(SYS_getpid) != first)
		raise(SIGWINCH);
	return execve(path, argv, environ);
}

// SPDX-License-Identifier: MIT
/* procfs.c - reading from a target: everything is copied, bounded and may be a lie */
#include "control/proc/proc.h"
#include "control/proc/proc_list.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAPS_READS	3 /* GUARD(maps_reads, 1) */	/* until it counts that something is not mapped */

int proc_read_memory(pid_t pid, uint64_t addr, void *buf, size_t len)
{
	struct iovec mine = { buf, len }, its = { (void *)(uintptr_t)addr, len };

	return process_vm_readv(pid, &mine, 1, &its, 1, 0) == (ssize_t)len ? 0 : -EFAULT;
}

long proc_read_string(pid_t pid, uint64_t addr, char *buf, size_t size)
{
	size_t have = 0;

	/* Page by page: the string may end just below unmapped memory. */
	while (have + 1 < size) {
		size_t part = UFT_PAGE - ((addr + have) & (UFT_PAGE - 1));
		char *end;

		if (part > size - 1 - have)
			part = size - 1 - have;
		if (proc_read_memory(pid, addr + have, buf + have, part))
			return -EFAULT;
		end = memchr(buf + have, '\0', part);
		if (end)
			return end - buf;
		have += part;
	}
	return -ENAMETOOLONG;
}

/* A process may have a lease on its own files in /proc, for which open() waits 45 s. */
static int open_file(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return open(path, O_RDONLY | O_NONBLOCK /* GUARD(proc_lease, 0) */ | O_NOFOLLOW | O_CLOEXEC);
}

int proc_open_memory(pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", tid);
	return open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

uint64_t proc_starved_ns(pid_t tid)
{
	unsigned long long waited = 0;
	char text[100];

	if (proc_read_file(tid, "schedstat", text, sizeof(text)) <= 0 || sscanf(text, "%*u %llu", &waited) != 1)
		return 0;
	return waited;
}

FILE *proc_fopen(pid_t pid, const char *name)
{
	int fd = open_file(pid, name), error;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0 && !f) {
		error = errno;
		close(fd);
		errno = error;
	}
	return f;
}

int proc_find_mapping(pid_t pid, mapping_fn *fn, void *arg)
{
	char *line = NULL, buffer[8192];
	size_t size = 0;
	int found = 0;

	for (int i = 0; i < MAPS_READS && !found; i++) {
		FILE *f = proc_fopen(pid, "maps");

		if (!f)
			break;
		/* the kernel gives a page at once, stdio would take a quarter */
		setvbuf(f, buffer, _IOFBF, sizeof(buffer));
		while (!found && getline(&line, &size, f) > 0)
			found = fn(arg, line);
		fclose(f);
	}
	free(line);
	return found;
}

int proc_read_file(pid_t pid, const char *name, char *buf, size_t size)
{
	int fd = open_file(pid, name);
	size_t have = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	while (have + 1 < size && (n = read(fd, buf + have, size - 1 - have)) > 0)
		have += (size_t)n;
	close(fd);
	buf[have] = '\0';
	return (int)have;
}

/* What proc_status_hold() read; tid 0: nothing is held. A thread's own. */
static _Thread_local struct {
	pid_t tid;
	char text[4096];
	uint8_t auxv[UFT_AUXV_MAX];
	int auxv_bytes;			/* 0: not read yet */
} held;

void proc_status_hold(pid_t tid)
{
	held.tid = 0;
	held.auxv_bytes = 0; /* GUARD(held_auxv_forgotten) */
	if (proc_read_file(tid, "status", held.text, sizeof(held.text)) > 0)
		held.tid = tid;
}

void proc_status_release(void)
{
	held.tid = 0;
}

/* The text of /proc/TID/status, in @buf or held; NULL: there is no such task. */
static const char *read_status(pid_t tid, char *buf, size_t size)
{
	if (tid == held.tid && tid)
		return held.text;
	return proc_read_file(tid, "status", buf, size) > 0 ? buf : NULL;
}

long proc_status_number(pid_t pid, const char *field, int base)
{
	char buf[4096];
	const char *p = read_status(pid, buf, sizeof(buf));
	size_t len = strlen(field);

	if (!p)
		return -ESRCH;
	while (p) {
		if (!strncmp(p, field, len) && p[len] == ':')
			return (long)strtoul(p + len + 1, NULL, base);
		p = strchr(p, '\n');
		if (p)
			p++;
	}
	return -ENOENT;
}

uid_t proc_effective_user(pid_t pid)
{
	unsigned int euid = (unsigned int)-1;
	char buf[4096];
	const char *text = read_status(pid, buf, sizeof(buf)), *at = text ? strstr(text, "\nUid:") : NULL;

	if (at)
		sscanf(at + 5, "%*u %u", &euid);
	return euid;
}

/* Its files in /proc are root's then, but for the directory. */
int proc_is_undumpable(pid_t pid)
{
	char path[64];
	struct stat dir, file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (stat(path, &file))
		return 0;
	*strrchr(path, '/') = '\0';
	return !stat(path, &dir) && dir.st_uid != file.st_uid;
}

int proc_is_of_our_user(pid_t pid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return !stat(path, &st) && st.st_uid == geteuid();
}

int proc_is_ending(pid_t pid)
{
	char stat[512], *state;
	int n = proc_read_file(pid, "stat", stat, sizeof(stat) - 1);

	if (n <= 0)
		return 1;
	stat[n] = '\0';
	state = strrchr(stat, ')');
	return !state || !state[1] || state[2] == 'Z' || state[2] == 'X' || proc_status_number(pid, "VmSize", 10) <= 0;
}

int proc_is_runnable(pid_t tid)
{
	char stat[512], *state;
	int n = proc_read_file(tid, "stat", stat, sizeof(stat) - 1);

	stat[n > 0 ? n : 0] = '\0';
	state = strrchr(stat, ')');
	return state && state[1] && state[2] == 'R';
}

void proc_signal(int pidfd, pid_t pid, int sig)
{
	if (pidfd >= 0)
		syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0);
	else
		kill(pid, sig);
}

int proc_is_our_tracee(pid_t tid)
{
	return proc_status_number(tid, "TracerPid", 10) == gettid();
}

pid_t proc_namespace_pid(pid_t tid)
{
	char buf[4096];
	const char *text = read_status(tid, buf, sizeof(buf)), *at;
	pid_t own = tid;

	if (!text)
		return tid;
	at = strstr(text, "\nNSpid:");
	for (at = at ? at + 7 : ""; *at && *at != '\n';) {
		char *end;
		long n = strtol(at, &end, 10);

		if (end == at)
			break;
		own = (pid_t)n;
		at = end;
	}
	return own;
}

pid_t proc_find_task(pid_t pid, pid_t own)
{
	DIR *d = proc_list(pid);
	pid_t tid;

	while ((tid = proc_list_next(d)) && proc_namespace_pid(tid) != own)
		;
	proc_list_end(d);
	return tid;
}

/* The comm may contain anything but its end. */
uint64_t proc_start_name(pid_t pid, char *comm, size_t size)
{
	unsigned long long start = 0;
	char buf[1024], *open, *close;

	if (proc_read_file(pid, "stat", buf, sizeof(buf)) <= 0)
		return 0;
	open = strchr(buf, '(');
	close = strrchr(buf, ')');
	if (!open || !close || close < open)
		return 0;
	*close = '\0';
	snprintf(comm, size, "%s", open + 1);
	sscanf(close + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &start);
	return start;
}

uint64_t proc_start_ticks(pid_t pid)
{
	char comm[64];

	return proc_start_name(pid, comm, sizeof(comm));
}

pid_t proc_find_neighbour(pid_t pid, pid_t own)
{
	pid_t found = 0, other;
	struct stat its, ns;
	char path[64];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	if (stat(path, &ns))
		return 0;
	d = proc_list(0);
	while (!found && (other = proc_list_next(d))) {
		snprintf(path, sizeof(path), "/proc/%d/ns/pid", other);
		if (proc_namespace_pid(other) == own && !stat(path, &its) && its.st_ino == ns.st_ino)
			found = other;
	}
	proc_list_end(d);
	return found;
}

void auxv_parse(const void *raw, size_t n, struct auxv *out)
{
	Elf64_auxv_t a;

	memset(out, 0, sizeof(*out));
	for (size_t at = 0; at + sizeof(a) <= n; at += sizeof(a)) {
		memcpy(&a, (const uint8_t *)raw + at, sizeof(a));
		switch (a.a_type) {
		case AT_PHDR: out->phdr = a.a_un.a_val; break;
		case AT_PHNUM: out->phnum = a.a_un.a_val; break;
		case AT_ENTRY: out->entry = a.a_un.a_val; break;
		case AT_BASE: out->base = a.a_un.a_val; break;
		case AT_SYSINFO_EHDR: out->vdso = a.a_un.a_val; break;
		case AT_SECURE: out->secure = a.a_un.a_val; break;
		case AT_RANDOM: out->random = a.a_un.a_val; break;
		}
	}
}

int auxv_read(pid_t pid, uint8_t *raw, size_t *bytes, struct auxv *out)
{
	const int is_held = pid && pid == held.tid;
	int n = is_held ? held.auxv_bytes : 0;

	if (n > 0)
		memcpy(raw, held.auxv, (size_t)n);
	else
		n = proc_read_file(pid, "auxv", (char *)raw, UFT_AUXV_MAX);
	if (is_held && n > 0 && n != held.auxv_bytes) {
		memcpy(held.auxv, raw, (size_t)n);
		held.auxv_bytes = n;
	}
	auxv_parse(raw, n > 0 ? (size_t)n : 0, out);
	if (n < (int)sizeof(Elf64_auxv_t))
		return n < 0 ? n : -ESRCH;
	*bytes = (size_t)n;
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * task.c - the identity of the running task
 *
 * /proc/PID/task/TID/syscall reads "running" for a task that is on a CPU or may be at any moment, and has the program
 * counter of every other task: "nr args... sp pc" in a system call, "-1 sp pc" when stopped elsewhere. A task in a
 * system call of the program may return at any time, so it does not count as quiet. A task that waits in the runtime's
 * code returns only when it is answered (or after UFT_REQ_TIMEOUT_MS, which is longer than patching takes).
 */
#include <asm/stat.h>

#include "runtime/base/mem.h"
#include "runtime/base/sys.h"
#include "runtime/platform/linux/maps.h"
#include "runtime/platform/platform.h"
#include "uft/abi.h"

struct dirent64 {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

int plat_pid(void)
{
	return sys_getpid();
}

int plat_proc_pid(int pid)
{
	static const char field[] = "\nPid:\t";
	char path[40], buf[512];
	int fd = (int)sys_call3(__NR_pidfd_open, pid, 0, 0), info;
	long n = 0;

	if (fd < 0)
		return fd == -ENOSYS ? pid : fd;	/* before Linux 5.3 */
	mem_put_dec(mem_put(path, "/proc/self/fdinfo/"), (uint64_t)fd);
	info = sys_open(path, O_RDONLY | O_CLOEXEC);
	if (info >= 0) {
		n = sys_read(info, buf, sizeof(buf));
		sys_close(info);
	}
	sys_close(fd);
	for (long at = 0; at + (long)sizeof(field) <= n; at++) {
		const char *s = buf + at + sizeof(field) - 1;

		/* 0 and -1: not visible there, ended */
		if (!memcmp(buf + at, field, sizeof(field) - 1))
			return *s > '0' && *s <= '9' ? (int)mem_get_number(&s, buf + n, 10) : -ESRCH;
	}
	return -ENOSYS;
}

int plat_parent(void)
{
	return (int)sys_call3(__NR_getppid, 0, 0, 0);
}

uint64_t plat_pid_ns(void)
{
	struct stat st;

	return sys_call4(__NR_newfstatat, AT_FDCWD, "/proc/self/ns/pid", &st, 0) ? 0 : st.st_ino;
}

int plat_tid(void)
{
	return sys_gettid();
}

/*
 * A seccomp filter need not know gettid(), but every filter lets threads wait: the kernel writes the caller's number
 * into a free priority-inheritance lock when it takes it. The kernel keeps no state of that.
 */
int plat_quiet_tid(void)
{
	uint32_t word = 0;

	if (sys_call6(__NR_futex, &word, FUTEX_LOCK_PI_PRIVATE, 0, 0, 0, 0))
		return sys_gettid();
	return (int)(word & FUTEX_TID_MASK);
}

int plat_is_gone(uint32_t tid)
{
	return !plat_is_denied(UFT_DENIED_GONE) && sys_call3(__NR_tkill, tid, 0, 0) == -ESRCH;
}

static int own_map(void *arg, const struct linux_map *m)
{
	struct linux_map *own = arg;

	if ((uintptr_t)own_map < m->lo || (uintptr_t)own_map >= m->hi)
		return 0;
	*own = *m;
	return 1;
}

/* Reads a file of a task; returns the bytes read, or -errno. */
static long read_task(int pid, int tid, const char *name, char *buf, size_t n)
{
	char path[64], *p;
	long ret;
	int fd;

	p = mem_put(path, "/proc/");
	p = mem_put_dec(p, (uint64_t)pid);
	p = mem_put(p, "/task/");
	p = mem_put_dec(p, (uint64_t)tid);
	mem_put(mem_put(p, "/"), name);
	fd = sys_open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fd;
	ret = sys_read(fd, buf, n - 1);
	sys_close(fd);
	if (ret >= 0)
		buf[ret] = 0;
	return ret;
}

/* 1: stopped by a tracer. The state follows the last ')' of stat: a comm may contain anything. */
static int is_traced_stop(int pid, int tid)
{
	char buf[512];
	long n = read_task(pid, tid, "stat", buf, sizeof(buf));

	while (n > 0 && buf[n - 1] != ')')
		n--;
	return n > 0 && buf[n] == ' ' && buf[n + 1] == 't';
}

/* 1: the task stays where it is; *pc is its program counter. */
static int is_held(int pid, int tid, const struct linux_map *own, uintptr_t *pc)
{
	char buf[256];
	long n = read_task(pid, tid, "syscall", buf, sizeof(buf)), at;
	const char *s;

	if (n <= 0 || buf[0] == 'r')	/* "running" */
		return 0;
	for (at = n; at > 0 && buf[at - 1] != 'x'; at--)
		;
	if (!at)
		return 0;
	s = buf + at;
	*pc = mem_get_number(&s, buf + n, 16);
	if (is_traced_stop(pid, tid))
		return 1;
	return buf[0] != '-' && *pc >= own->lo && *pc < own->hi;
}

int plat_is_quiet(int pid, uintptr_t *pc, int max)
{
	struct linux_map own = { 0, 0, 0, 0 };
	uint64_t dents[256];	/* as uint64_t: dirents are 8-byte aligned */
	char path[64];
	int fd, n = 0, self = plat_tid();
	long got, at;

	pid = plat_proc_pid(pid);
	if (pid <= 0 || linux_maps_walk(own_map, &own))
		return -ENOSYS;
	mem_put(mem_put_dec(mem_put(path, "/proc/"), (uint64_t)pid), "/task");
	fd = sys_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -ENOSYS;
	while ((got = sys_getdents64(fd, dents, sizeof(dents))) > 0) {
		for (at = 0; at < got;) {
			struct dirent64 *d = (struct dirent64 *)((char *)dents + at);
			const char *s = d->name, *end = s + mem_strlen(s);
			int tid = (int)mem_get_number(&s, end, 10);

			at += d->reclen;
			if (!tid || tid == self)
				continue;
			if (n == max || !is_held(pid, tid, &own, &pc[n]))
				goto busy; /* GUARD(task_is_held, continue) */
			n++;
		}
	}
	sys_close(fd);
	return got < 0 ? -ENOSYS : n;
busy:
	sys_close(fd);
	return -EBUSY;
}

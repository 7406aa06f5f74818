// SPDX-License-Identifier: MIT
/*
 * procinfo.c - what /proc tells of a process that is to be attached to
 *
 * Refusals come from here, before anything is touched, so that each can say what is the matter and what would help.
 */
#include "control/proc/procinfo.h"

#include "control/proc/cgroup.h"

#include "control/ptrace/task_stop.h"
#include "symbol/host.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define GUARD		"uft-guard ("	/* as procinfo_taken() tells of it */
#define GUARD_MS	10000

#define PF_KTHREAD	0x00200000

/* The line of /proc/PID/status, behind the colon; NULL none. */
static const char *field(const char *status, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = status; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (!strncmp(p, name, len) && p[len] == ':')
			return p + len + 1;
	}
	return NULL;
}

static long number(const char *status, const char *name)
{
	const char *p = field(status, name);

	return p ? strtol(p, NULL, 10) : 0;
}

/* "x86_Thread_features:	shstk wrss" */
static int has_shadow_stack(const char *status)
{
	const char *p = field(status, "x86_Thread_features"), *at = p ? strstr(p, "shstk") : NULL;

	return at && at < p + strcspn(p, "\n");
}

/* The last number of a line: NSpid is outermost first. */
static long last_number(const char *p)
{
	long n = 0;
	char *end;

	while (p && *p != '\n' && *p) {
		long v = strtol(p, &end, 10);

		if (end == p)
			break;
		n = v;
		p = end;
		while (*p == ' ' || *p == '\t')
			p++;
	}
	return n;
}

static void read_name(pid_t pid, char *buf, size_t size)
{
	if (peek_file(pid, "comm", buf, size) <= 0)
		snprintf(buf, size, "?");
	buf[strcspn(buf, "\n")] = '\0';
}

/* State and flags of /proc/PID/stat. */
static int read_stat(pid_t pid, const char *name, char *state, unsigned *flags)
{
	char buf[1024], *p;

	if (peek_file(pid, name, buf, sizeof(buf)) <= 0)
		return -ESRCH;
	p = strrchr(buf, ')');
	return p && sscanf(p + 1, " %c %*d %*d %*d %*d %*d %u", state, flags) == 2 ? 0 : -ESRCH;
}

int procinfo_is_gone(const struct procinfo *p)
{
	struct pollfd fd = { .fd = p->pidfd, .events = POLLIN };
	char state = 0;
	unsigned flags;

	return p->pidfd < 0 || poll(&fd, 1, 0) > 0 || read_stat(p->pid, "stat", &state, &flags) || state == 'Z' || state == 'X';
}

/* ---- Refusals ---------------------------------------------------------------------------------- */

void procinfo_explain_eperm(const struct procinfo *p, char *buf, size_t size)
{
	char status[4096], scope[8] = "0", name[32];
	int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
	long tracer = peek_file(p->pid, "status", status, sizeof(status)) > 0 ? number(status, "TracerPid") : 0;

	if (fd >= 0) {
		if (read(fd, scope, sizeof(scope) - 1) < 0)
			scope[0] = '0';
		close(fd);
	}
	if (tracer > 0) {
		read_name((pid_t)tracer, name, sizeof(name));
		snprintf(buf, size, "it is being traced by %s (process %ld); only one tracer is possible at a time", name, tracer);
	} else if (geteuid() && p->uid != geteuid()) {
		snprintf(buf, size, "it belongs to user %u and we are user %u: run uft as that user, or with CAP_SYS_PTRACE (root)",
			 p->uid, geteuid());
	} else if (scope[0] == '3') {
		snprintf(buf, size, "kernel.yama.ptrace_scope is 3: nobody may attach to a process until the next boot");
	} else if (geteuid() && scope[0] != '0') {
		snprintf(buf, size, "kernel.yama.ptrace_scope is %c: attaching needs CAP_SYS_PTRACE (root), or sysctl "
				    "kernel.yama.ptrace_scope=0", scope[0]);
	} else if (geteuid() && peek_is_undumpable(p->pid)) {
		snprintf(buf, size, "it gained rights when it was started, or has made itself undumpable: this needs "
				    "CAP_SYS_PTRACE (root)");
	} else {
		snprintf(buf, size, "the kernel does not permit ptrace here: CAP_SYS_PTRACE is missing (a user namespace, a "
				    "container's capabilities), or a seccomp or security profile forbids it");
	}
}

struct taken {
	pid_t us, tid, tracer;
};

static int taken_fn(void *arg, pid_t pid, pid_t tid)
{
	struct taken *t = arg;
	long tracer = peek_status(tid, "TracerPid", 10);

	(void)pid;
	if (tracer <= 0 || tracer == t->us || peek_status((pid_t)tracer, "Tgid", 10) == t->us)	/* one of its threads */
		return 0;
	t->tid = tid;
	t->tracer = (pid_t)tracer;
	return 1;
}

pid_t procinfo_taken(pid_t pid, pid_t us, char *by, size_t size)
{
	struct taken t = { .us = us };
	char name[32];

	if (look_each_task(pid, taken_fn, &t) <= 0)
		return 0;
	read_name(t.tracer, name, sizeof(name));
	snprintf(by, size, "%s (process %d)", name, t.tracer);
	return t.tid;
}

/* Of a process that nobody traces as a whole. */
static int check_threads(const struct procinfo *p, struct uft_error *err)
{
	char by[80];
	pid_t tid = procinfo_taken(p->pid, getpid(), by, sizeof(by));

	return tid ? uft_fail(err, -EBUSY, "process %d (%s) cannot be traced: its thread %d is being traced by %s; only one tracer is "
			      "possible at a time", p->pid, p->comm, tid, by) : 0;
}

static int refuse_eperm(const struct procinfo *p, struct uft_error *err)
{
	char why[400];

	procinfo_explain_eperm(p, why, sizeof(why));
	return uft_fail(err, -EPERM, "process %d (%s) cannot be traced: %s", p->pid, p->comm, why);
}

/* 64 bits of this machine only, by the program's own header. */
static int check_class(const struct procinfo *p, struct uft_error *err)
{
	char path[64];
	Elf64_Ehdr eh;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", p->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && (errno == EACCES || errno == EPERM))
		return refuse_eperm(p, err);
	if (fd < 0)
		return uft_fail(err, -ESRCH, "process %d ended", p->pid);
	n = read(fd, &eh, sizeof(eh));
	close(fd);
	if (n < EI_NIDENT + 4 || memcmp(eh.e_ident, ELFMAG, SELFMAG) || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_machine != HOST_MACHINE)
		return uft_fail(err, -EPFNOSUPPORT, "process %d (%s) runs a program of 32 bits or of another architecture: only "
				HOST_NAME " programs of 64 bits are supported", p->pid, p->comm);
	return 0;
}

/* A session's file that is mapped, and whose session lives: its lock is taken. */
static int is_session_alive(const char *path)
{
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC), alive;

	if (fd < 0)
		return errno != ENOENT;
	alive = flock(fd, LOCK_EX | LOCK_NB) < 0;
	close(fd);
	return alive;
}

static int check_sessions(const struct uft_session *s, const struct procinfo *p, struct uft_error *err)
{
	char path[64], *line = NULL, other[300] = "";
	size_t size = 0;
	FILE *f;

	if (peek_has_arena(s, p->pid))
		return uft_fail(err, -EEXIST, "process %d (%s) is traced by this session already", p->pid, p->comm);
	snprintf(path, sizeof(path), "/proc/%d/maps", p->pid);
	f = fopen(path, "re");
	while (f && !other[0] && getline(&line, &size, f) > 0) {
		char *at = strchr(line, '/'), *base = at ? strstr(at, "/session.") : NULL;

		if (!base || base == at || !strstr(at, "uft") || strstr(base, "(deleted)"))
			continue;
		at[strcspn(at, "\n")] = '\0';
		if (is_session_alive(at))
			snprintf(other, sizeof(other), "%s", base + strlen("/session."));
	}
	free(line);
	if (f)
		fclose(f);
	if (other[0])
		return uft_fail(err, -EBUSY, "process %d (%s) is traced by another session already: uft process %d", p->pid, p->comm,
				atoi(other));
	return 0;
}

/* Children of a process that has left its pid namespace live in another one: the agent would be its init. */
static int check_namespace(const struct procinfo *p, struct uft_error *err)
{
	char path[64], own[64] = "", children[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", p->pid);
	if (readlink(path, own, sizeof(own) - 1) < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/ns/pid_for_children", p->pid);
	if (readlink(path, children, sizeof(children) - 1) <= 0 || !strcmp(own, children))
		return 0;
	return uft_fail(err, -EOPNOTSUPP, "process %d (%s) makes its children in another pid namespace: attach to those", p->pid,
			p->comm);
}

/* The guard of a recorder that was killed lets go of its last threads when nothing else shows that it is there. */
static void await_guard(pid_t pid)
{
	char by[80];

	for (int i = 0; i < GUARD_MS / 10; i++) {
		if (!procinfo_taken(pid, getpid(), by, sizeof(by)) || strncmp(by, GUARD, strlen(GUARD)))
			return;
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
}

int procinfo_read(const struct uft_session *s, pid_t pid, struct procinfo *out, struct uft_error *err)
{
	char status[8192], name[32], group[200], state = 0;
	unsigned flags = 0;
	long tgid, tracer;
	int ret;

	out->pid = pid;
	if (pid > 0)
		await_guard(pid);
	if (pid <= 0 || out->pidfd < 0 || peek_file(pid, "status", status, sizeof(status)) <= 0 ||
	    read_stat(pid, "stat", &state, &flags)) {
		tgid = pid > 0 ? peek_status(pid, "Tgid", 10) : 0;
		if (tgid > 0 && tgid != pid)
			return uft_fail(err, -EINVAL, "%d is a thread of process %ld", pid, tgid);
		return uft_fail(err, -ESRCH, "there is no process %d", pid);
	}
	read_name(pid, out->comm, sizeof(out->comm));
	out->ppid = (pid_t)number(status, "PPid");
	out->local_pid = (pid_t)last_number(field(status, "NSpid"));
	if (out->local_pid <= 0)
		out->local_pid = pid;
	out->uid = (uid_t)number(status, "Uid");
	out->seccomp = (int)number(status, "Seccomp");
	out->locked_kb = number(status, "VmLck");
	tracer = number(status, "TracerPid");
	if (flags & PF_KTHREAD)
		return uft_fail(err, -EINVAL, "%d (%s) is a thread of the kernel", pid, out->comm);
	if (state == 'Z' || state == 'X')
		return uft_fail(err, -ESRCH, "process %d (%s) is a zombie: it has ended, its parent has not taken notice yet", pid,
				out->comm);
	if (cgroup_is_frozen(pid, group, sizeof(group)))
		return uft_fail(err, -EBUSY, "process %d (%s) is frozen (its control group is %s): it can be attached to when it is thawed",
				pid, out->comm, group);
	if (pid == getpid())
		return uft_fail(err, -EINVAL, "process %d is this uft itself", pid);
	if (!strcmp(out->comm, "uft-agent"))
		return uft_fail(err, -EINVAL, "process %d is the agent of a traced process", pid);
	if (tracer > 0) {
		read_name((pid_t)tracer, name, sizeof(name));
		return uft_fail(err, -EBUSY, "process %d (%s) is being traced by %s (process %ld); only one tracer is possible at a "
				"time", pid, out->comm, name, tracer);
	}
	if (has_shadow_stack(status))
		return uft_fail(err, -EOPNOTSUPP, "process %d (%s) has user shadow stacks (CET): return addresses cannot be taken back "
				"there, so that it could not be left", pid, out->comm);
	if (out->seccomp == 1)
		return uft_fail(err, -EPERM, "process %d (%s) is under strict seccomp: it may only read, write and exit", pid, out->comm);
	ret = check_class(out, err);
	if (!ret)
		ret = check_namespace(out, err);
	if (!ret)
		ret = check_sessions(s, out, err);
	return ret ? ret : check_threads(out, err);
}

/* ---- Numbers of another namespace -------------------------------------------------------------- */

pid_t procinfo_global(const struct procinfo *p, pid_t local)
{
	char path[64], own[64] = "", its[64] = "", status[4096];
	struct dirent *e;
	pid_t found = 0;
	DIR *d;

	if (p->local_pid == p->pid)
		return local;
	snprintf(path, sizeof(path), "/proc/%d/ns/pid", p->pid);
	if (readlink(path, own, sizeof(own) - 1) < 0)
		return 0;
	d = opendir("/proc");
	while (d && !found && (e = readdir(d))) {
		pid_t pid = (pid_t)atoi(e->d_name);

		if (pid <= 0 || peek_file(pid, "status", status, sizeof(status)) <= 0 ||
		    last_number(field(status, "NSpid")) != local)
			continue;
		memset(its, 0, sizeof(its));
		snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
		if (readlink(path, its, sizeof(its) - 1) > 0 && !strcmp(its, own))
			found = pid;
	}
	if (d)
		closedir(d);
	return found;
}

/* ---- Tasks --------------------------------------------------------------------------------------- */

int taskinfo_read(pid_t pid, pid_t tid, struct taskinfo *out)
{
	char name[64], buf[256];
	unsigned long long arg, sp, pc;
	unsigned flags;

	*out = (struct taskinfo){ .nr = -1 };
	snprintf(name, sizeof(name), "task/%d/stat", tid);
	if (read_stat(pid, name, &out->state, &flags))
		return -ESRCH;
	snprintf(name, sizeof(name), "task/%d/syscall", tid);
	if (peek_file(pid, name, buf, sizeof(buf)) <= 0)
		return -ESRCH;
	if (sscanf(buf, "%ld %llx %*x %*x %*x %*x %*x %llx %llx", &out->nr, &arg, &sp, &pc) == 4)
		out->arg0 = arg;
	else if (sscanf(buf, "%ld %llx %llx", &out->nr, &sp, &pc) != 3) {
		out->is_running = 1;
		return 0;
	}
	out->sp = sp;
	out->pc = pc;
	return 0;
}

/* Whoever sleeps in one of these waits for its child: making one does not sleep for long. */
static int waits_for_vfork(void *arg, pid_t pid, pid_t tid)
{
	struct taskinfo t;

	(void)arg;
	return !taskinfo_read(pid, tid, &t) && !t.is_running && look_is_vfork_call(pid, t.nr, t.arg0);
}

int procinfo_has_vfork(pid_t pid)
{
	return look_each_task(pid, waits_for_vfork, NULL) > 0;
}

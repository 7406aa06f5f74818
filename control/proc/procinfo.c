// SPDX-License-Identifier: MIT
/*
 * procinfo.c - facts of a process and its tasks from /proc, and the reasons why ptrace refuses one
 */
#include "control/proc/procinfo.h"

#include "control/base/base.h"
#include "control/proc/proc_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The line of /proc/PID/status, behind the colon; NULL none. */
const char *procinfo_field(const char *status, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = status; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (!strncmp(p, name, len) && p[len] == ':')
			return p + len + 1;
	}
	return NULL;
}

long procinfo_number(const char *status, const char *name)
{
	const char *p = procinfo_field(status, name);

	return p ? strtol(p, NULL, 10) : 0;
}

/* The last number of a line: NSpid is outermost first. */
long procinfo_last_number(const char *p)
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

void procinfo_read_name(pid_t pid, char *buf, size_t size)
{
	if (proc_read_file(pid, "comm", buf, size) <= 0)
		snprintf(buf, size, "?");
	buf[strcspn(buf, "\n")] = '\0';
}

/* State and flags of /proc/PID/stat. */
int procinfo_read_stat(pid_t pid, const char *name, char *state, unsigned *flags)
{
	char buf[1024], *p;

	if (proc_read_file(pid, name, buf, sizeof(buf)) <= 0)
		return -ESRCH;
	p = strrchr(buf, ')');
	return p && sscanf(p + 1, " %c %*d %*d %*d %*d %*d %u", state, flags) == 2 ? 0 : -ESRCH;
}

int procinfo_is_gone(const struct procinfo *p)
{
	char state = 0;
	unsigned flags;

	return p->pidfd < 0 || fd_await(p->pidfd, 0) || procinfo_read_stat(p->pid, "stat", &state, &flags) ||
	       state == 'Z' || state == 'X';
}

/* ---- Refusals ---------------------------------------------------------------------------------- */

void procinfo_explain_eperm(const struct procinfo *p, char *buf, size_t size)
{
	char status[4096], scope[8] = "0", name[32];
	int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
	long tracer =
		proc_read_file(p->pid, "status", status, sizeof(status)) > 0 ? procinfo_number(status, "TracerPid") : 0;

	if (fd >= 0) {
		if (read(fd, scope, sizeof(scope) - 1) < 0)
			scope[0] = '0';
		close(fd);
	}
	if (tracer > 0) {
		procinfo_read_name((pid_t)tracer, name, sizeof(name));
		snprintf(buf, size, "it is being traced by %s (process %ld); only one tracer is possible at a time",
			 name, tracer);
	} else if (geteuid() && p->uid != geteuid()) {
		snprintf(buf, size,
			 "it belongs to user %u and we are user %u: run uft as that user, or with CAP_SYS_PTRACE (root)",
			 p->uid, geteuid());
	} else if (scope[0] == '3') {
		snprintf(buf, size, "kernel.yama.ptrace_scope is 3, which forbids attaching until the next boot: "
				    "set 1 in /etc/sysctl.d and reboot");
	} else if (geteuid() && scope[0] != '0') {
		snprintf(buf, size, "kernel.yama.ptrace_scope is %c: attaching needs CAP_SYS_PTRACE (root), or sysctl "
				    "kernel.yama.ptrace_scope=0", scope[0]);
	} else if (geteuid() && proc_is_undumpable(p->pid)) {
		snprintf(buf, size, "it gained rights when it was started, or has made itself undumpable: this needs "
				    "CAP_SYS_PTRACE (root)");
	} else {
		snprintf(buf, size,
			 "the kernel does not permit ptrace here: CAP_SYS_PTRACE is missing (a user namespace, a "
				    "container's capabilities), or a seccomp or security profile forbids it");
	}
}

struct taken {
	pid_t us, tid, tracer;
};

static int taken_fn(void *arg, pid_t pid, pid_t tid)
{
	struct taken *t = arg;
	long tracer = proc_status_number(tid, "TracerPid", 10);

	(void)pid;
	/* one of its threads */
	if (tracer <= 0 || tracer == t->us || proc_status_number((pid_t)tracer, "Tgid", 10) == t->us)
		return 0;
	t->tid = tid;
	t->tracer = (pid_t)tracer;
	return 1;
}

pid_t procinfo_taken(pid_t pid, pid_t us, char *by, size_t size)
{
	struct taken t = { .us = us };
	char name[32];

	if (each_task(pid, taken_fn, &t) <= 0)
		return 0;
	procinfo_read_name(t.tracer, name, sizeof(name));
	snprintf(by, size, "%s (process %d)", name, t.tracer);
	return t.tid;
}

/* ---- Numbers of another namespace -------------------------------------------------------------- */

pid_t procinfo_global(const struct procinfo *p, pid_t local)
{
	char path[64], own[64] = "", its[64] = "", status[4096];
	pid_t found = 0, pid;
	DIR *d;

	if (p->local_pid == p->pid)
		return local;
	snprintf(path, sizeof(path), "/proc/%d/ns/pid", p->pid);
	if (readlink(path, own, sizeof(own) - 1) < 0)
		return 0;
	d = proc_list(0);
	while (!found && (pid = proc_list_next(d))) {
		if (proc_read_file(pid, "status", status, sizeof(status)) <= 0 ||
		    procinfo_last_number(procinfo_field(status, "NSpid")) != local)
			continue;
		memset(its, 0, sizeof(its));
		snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
		if (readlink(path, its, sizeof(its) - 1) > 0 && !strcmp(its, own))
			found = pid;
	}
	proc_list_end(d);
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
	if (procinfo_read_stat(pid, name, &out->state, &flags))
		return -ESRCH;
	snprintf(name, sizeof(name), "task/%d/syscall", tid);
	if (proc_read_file(pid, name, buf, sizeof(buf)) <= 0)
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

/* A task that sleeps in one of these waits for its vfork child: the calls themselves do not sleep for long. */
static int waits_for_vfork(void *arg, pid_t pid, pid_t tid)
{
	struct taskinfo t;

	(void)arg;
	return !taskinfo_read(pid, tid, &t) && !t.is_running && is_vfork_call(pid, t.nr, t.arg0);
}

int procinfo_has_vfork(pid_t pid)
{
	return each_task(pid, waits_for_vfork, NULL) > 0;
}

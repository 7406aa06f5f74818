// SPDX-License-Identifier: MIT
/*
 * attachable.c - check that a process can be attached to; each refusal names the reason, and the remedy if there is one
 *
 * The checks change nothing in the process.
 */
#include "control/proc/procinfo.h"
#include "control/proc/cgroup.h"
#include "control/start/start.h"
#include "symbol/host.h"
#include "symbol/open_regular.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define GUARD		"uft-guard ("	/* begin of the text by which procinfo_taken() names a guard */
#define GUARD_MS	10000

/* "x86_Thread_features:	shstk wrss" */
static int has_shadow_stack(const char *status)
{
	const char *p = procinfo_field(status, "x86_Thread_features"), *at = p ? strstr(p, "shstk") : NULL;

	return at && at < p + strcspn(p, "\n");
}

/* Checks the single threads of a process whose leader has no tracer. */
static int check_threads(const struct procinfo *p, struct uft_error *err)
{
	char by[80];
	pid_t tid = procinfo_taken(p->pid, getpid(), by, sizeof(by));

	return tid ?
		uft_fail(err, -EBUSY,
			 "process %d (%s) cannot be traced: its thread %d is being traced by %s; only one tracer is "
			      "possible at a time", p->pid, p->comm, tid, by) : 0;
}

static int refuse_eperm(const struct procinfo *p, struct uft_error *err)
{
	char why[400];

	procinfo_explain_eperm(p, why, sizeof(why));
	return uft_fail(err, -EPERM, "process %d (%s) cannot be traced: %s", p->pid, p->comm, why);
}

/* Checks by the program's ELF header that it is of 64 bits and of this machine. */
static int check_class(const struct procinfo *p, struct uft_error *err)
{
	char path[64];
	Elf64_Ehdr eh;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", p->pid);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && (errno == EACCES || errno == EPERM))
		return refuse_eperm(p, err);
	if (fd < 0)
		return uft_fail(err, -ESRCH, "process %d ended", p->pid);
	n = read(fd, &eh, sizeof(eh));
	close(fd);
	if (n < EI_NIDENT + 4 || memcmp(eh.e_ident, ELFMAG, SELFMAG) || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_machine != HOST_MACHINE)
		return uft_fail(err, -EPFNOSUPPORT,
				"process %d (%s) runs a program of 32 bits or of another architecture: only "
				HOST_NAME " programs of 64 bits are supported", p->pid, p->comm);
	return 0;
}

/*
 * Returns 1 if the session whose file @path is mapped (@base: where the file's name begins) is alive: then the lock on
 * its first file is taken. The target can choose the name, of an object that is no file or has a lease: open() of the
 * latter takes 45 s.
 */
static int is_session_alive(char *path, char *base)
{
	char *end = base + strlen("/session.");
	struct stat st;
	int fd, alive;

	end += strspn(end, "0123456789.");
	if (end[0] && end[-1] == '.')		/* SESSION.b, SESSION.f1 */
		end[-1] = '\0';
	fd = open_regular(path, OPEN_NOFOLLOW, &st); /* GUARD(session_regular, open(path, O_RDWR | O_CLOEXEC)) */
	if (fd < 0)
		return fd != -ENOENT && fd != -ENODEV && fd != -EWOULDBLOCK;
	alive = flock(fd, LOCK_EX | LOCK_NB) < 0;
	close(fd);
	return alive;
}

/* Returns 1 if the line names the file of a live session other than ours; @arg gets the number behind "session.". */
static int find_session(void *arg, char *line)
{
	char *at = strchr(line, '/'), *base = at ? strstr(at, "/session.") : NULL;
	const int number = base ? atoi(base + strlen("/session.")) : 0;

	if (!base || base == at || !strstr(at, "uft") || strstr(base, "(deleted)") || number == getpid())
		return 0;
	at[strcspn(at, "\n")] = '\0';
	if (!is_session_alive(at, base))
		return 0;
	*(int *)arg = number;
	return 1;
}

int attachable_check_others(const struct procinfo *p, unsigned ms, struct uft_error *err)
{
	const uint64_t deadline = now_ns() + ms * 1000000ull;
	int other;

	while (proc_find_mapping(p->pid, find_session, &other)) {
		if (other < getpid() || now_ns() >= deadline)
			return uft_fail(err, -EBUSY,
					"process %d (%s) is traced by another session already: uft process %d",
					p->pid, p->comm, other);
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	}
	return 0;
}

static int check_sessions(const struct uft_session *s, const struct procinfo *p, struct uft_error *err)
{
	if (process_maps_arena(s, p->pid))
		return uft_fail(err, -EEXIST, "process %d (%s) is traced by this session already", p->pid, p->comm);
	return attachable_check_others(p, 0, err);
}

/* With a lease on /proc/PID/maps its mappings cannot be read, nor whether another session traces the process. */
static int has_leased_maps(pid_t pid)
{
	FILE *f = proc_fopen(pid, "maps");
	int is_leased = !f && errno == EAGAIN;

	if (f)
		fclose(f);
	return is_leased;
}

/* A process can make its children in another pid namespace (unshare, setns): the agent would be the init there. */
static int check_namespace(const struct procinfo *p, struct uft_error *err)
{
	char path[64], own[64] = "", children[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", p->pid);
	if (readlink(path, own, sizeof(own) - 1) < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/ns/pid_for_children", p->pid);
	if (readlink(path, children, sizeof(children) - 1) <= 0 || !strcmp(own, children))
		return 0;
	return uft_fail(err, -EOPNOTSUPP,
			"process %d (%s) makes its children in another pid namespace: attach to those", p->pid,
			p->comm);
}

/* The guard of a killed recorder may still trace the last threads, with no other sign of that session left. */
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
	ret = pid <= 0 || out->pidfd < 0 ? -ESRCH : proc_read_file(pid, "status", status, sizeof(status));
	ret = ret > 0 ? procinfo_read_stat(pid, "stat", &state, &flags) : ret ? ret : -ESRCH;
	if (ret == -EAGAIN || (ret == 0 && has_leased_maps(pid)))
		return uft_fail(err, -EAGAIN, "process %d cannot be traced: it has a lease on its own files in /proc",
				pid);
	if (ret) {
		tgid = pid > 0 ? proc_status_number(pid, "Tgid", 10) : 0;
		if (tgid > 0 && tgid != pid)
			return uft_fail(err, -EINVAL, "%d is a thread of process %ld", pid, tgid);
		return uft_fail(err, -ESRCH, "there is no process %d", pid);
	}
	procinfo_read_name(pid, out->comm, sizeof(out->comm));
	out->ppid = (pid_t)procinfo_number(status, "PPid");
	out->local_pid = (pid_t)procinfo_last_number(procinfo_field(status, "NSpid"));
	if (out->local_pid <= 0)
		out->local_pid = pid;
	out->uid = (uid_t)procinfo_number(status, "Uid");
	out->seccomp = (int)procinfo_number(status, "Seccomp");
	out->locked_kb = procinfo_number(status, "VmLck");
	tracer = procinfo_number(status, "TracerPid");
	if (flags & PF_KTHREAD)
		return uft_fail(err, -EINVAL, "%d (%s) is a thread of the kernel", pid, out->comm);
	if (state == 'Z' || state == 'X')
		return uft_fail(err, -ESRCH,
				"process %d (%s) is a zombie: it has ended, its parent has not taken notice yet", pid,
				out->comm);
	if (cgroup_is_frozen(pid, group, sizeof(group)))
		return uft_fail(err, -EBUSY,
				"process %d (%s) is frozen (its control group is %s): it can be attached to when it is thawed",
				pid, out->comm, group);
	if (pid == getpid())
		return uft_fail(err, -EINVAL, "process %d is this uft itself", pid);
	if (!strcmp(out->comm, "uft-agent"))
		return uft_fail(err, -EINVAL, "process %d is the agent of a traced process", pid);
	ret = check_sessions(s, out, err);	/* first: the tracer found below may be a session */
	if (ret)
		return ret;
	if (tracer > 0) {
		procinfo_read_name((pid_t)tracer, name, sizeof(name));
		return uft_fail(err, -EBUSY,
				"process %d (%s) is being traced by %s (process %ld); only one tracer is possible at a "
				"time", pid, out->comm, name, tracer);
	}
	if (has_shadow_stack(status))
		return uft_fail(err, -EOPNOTSUPP,
				"process %d (%s) has user shadow stacks (CET): uft could not restore return addresses "
				"there, so it could not detach", pid, out->comm);
	if (out->seccomp == 1)
		return uft_fail(err, -EPERM,
				"process %d (%s) is under strict seccomp: it may only read, write and exit", pid,
				out->comm);
	ret = check_class(out, err);
	if (!ret)
		ret = check_namespace(out, err);
	return ret ? ret : check_threads(out, err); /* GUARD(attachable_threads, ret) */
}

/* SPDX-License-Identifier: MIT */
/* procinfo.h - facts of a process before an attach. Context: control. */
#ifndef UFT_CONTROL_PROCINFO_H
#define UFT_CONTROL_PROCINFO_H

#include "control/proc/proc.h"

struct procinfo {
	pid_t pid, ppid;
	pid_t local_pid;	/* in its own pid namespace */
	uid_t uid;		/* real */
	int seccomp;		/* 0 none, 1 strict, 2 filter */
	long locked_kb;
	char comm[32];
	int pidfd;		/* the caller's */
};

/*
 * Parts of the text of /proc/PID/status: a line behind its colon, NULL none; the number there; the last
 * number of a line.
 */
const char *procinfo_field(const char *status, const char *name);
long procinfo_number(const char *status, const char *name);
long procinfo_last_number(const char *line);
void procinfo_read_name(pid_t pid, char *buf, size_t size);
#define PF_KTHREAD	0x00200000	/* a flag of procinfo_read_stat(): a thread of the kernel */
/* State and flags of /proc/PID/@name: stat, or that of a task. 0 or -ESRCH. */
int procinfo_read_stat(pid_t pid, const char *name, char *state, unsigned *flags);
int procinfo_is_gone(const struct procinfo *p);
/* Why ptrace says EPERM. */
void procinfo_explain_eperm(const struct procinfo *p, char *buf, size_t size);
/*
 * Finds a thread of the process that has a tracer other than @us: we could not stop it. Returns the thread and writes
 * its tracer as "NAME (process N)"; 0: none.
 */
pid_t procinfo_taken(pid_t pid, pid_t us, char *by, size_t size);
/* The number that we know a task of its pid namespace by; 0: not found. */
pid_t procinfo_global(const struct procinfo *p, pid_t local);
/* Does a thread wait for a child that it made by vfork? */
int procinfo_has_vfork(pid_t pid);

struct taskinfo {
	char state;		/* of stat */
	int is_running;		/* nothing is known of its pc */
	long nr;		/* system call it sleeps in, -1 none */
	uint64_t sp, pc, arg0;
};
int taskinfo_read(pid_t pid, pid_t tid, struct taskinfo *out);

#endif

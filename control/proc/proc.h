/* SPDX-License-Identifier: MIT */
/* proc.h - facts of processes from /proc and the kernel: copied, bounded, and possibly false. Context: control. */
#ifndef UFT_CONTROL_PROC_H
#define UFT_CONTROL_PROC_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "symbol/error.h"
#include "symbol/image.h"
#include "uft/abi.h"

/* ---- procfs.c: the auxiliary vector -------------------------------------------------------------- */

#define UFT_AUXV_MAX	1024
#define MAX_PHDRS	128
struct auxv {
	uint64_t phdr, phnum, entry, base, vdso, secure, random;
};
void auxv_parse(const void *raw, size_t n, struct auxv *out);
int auxv_read(pid_t pid, uint8_t *raw, size_t *bytes, struct auxv *out);

/* ---- exec_rights.c --------------------------------------------------------------------------------- */

/* Why an exec of @path by a task of @euid and @egid changes credentials, as text; NULL: it does not. */
const char *secure_exec_reason(const char *path, uid_t euid, gid_t egid);
/* The same of the file @name that task @tid executes, from its directory @dirfd; NULL: of its descriptor @dirfd. */
const char *secure_exec_reason_of(pid_t tid, const char *name, int dirfd);
/* That file as we see it, into @path. 0 or -errno. */
int executed_path(pid_t tid, const char *name, int dirfd, char *path, size_t size);
/* Has task @tid, which stands behind its exec, gained rights by it? NULL: no. */
const char *exec_gained(pid_t tid);
/*
 * The program of @pid, before its first instruction or later, loads and runs others in its own memory: 1. The
 * reason, for @err; its code.
 */
int exec_runs_guests(pid_t pid, const struct auxv *av);
int headers_run_guests(const Elf64_Phdr *ph, size_t n);		/* the same by its program headers */
int exec_guests_fail(const char *path, struct uft_error *err);
/* What stands in an executable file is something we can trace: 0, or -errno and the sentence. */
int program_check(const char *path, struct uft_error *err);
/* And its start gains no rights. */
int program_check_rights(const char *path, struct uft_error *err);
/* "#! /bin/sh -e" into "/bin/sh"; where that is a script as well, what it comes down to. 0: @path is no script. */
int script_interpreter(const char *path, char *interp, size_t size);

/* ---- rlimits.c --------------------------------------------------------------------------------- */

/*
 * Lifts the limit of address space of process @pid, which begins a program, as far as our rights reach. @known: the
 * limit that the program before this set; NULL: it has set none. 1, *@program: the limit for the runtime, *@was: what
 * the kernel had; 0: there is no limit.
 */
int rlimits_make_room(pid_t pid, const struct uft_limits *known, struct uft_limits *program, struct rlimit *was);
/* Gives process @pid, whose program is not followed, the limit that its last program set. @known: NULL: it set none. */
void rlimits_give_back(pid_t pid, const struct uft_limits *known);

/*
 * Why process @pid, 0: ourselves, could not be given something (@ret), with what to do about it, if a limit
 * of its is the reason: -ENOMEM of @bytes of address space, -EFBIG of a file of @bytes, -EMFILE, or -EUSERS: no other
 * task. 0: it is not.
 */
int rlimits_explain(pid_t pid, int ret, uint64_t bytes, char *why, size_t size);
/*
 * The part for no other task, of which the kernel does not tell whose limit it was. @limit: of the process's
 * user, UINT64_MAX none. Returns what prlimit(1) calls that; NULL: it is none of the process's own.
 */
const char *rlimits_explain_tasks(pid_t pid, uint64_t limit, char *why, size_t size);

/* ---- procfs.c: memory and files of a process ------------------------------------------------------- */

int proc_read_memory(pid_t pid, uint64_t addr, void *buf, size_t len);		/* 0 or -EFAULT: all or nothing */
long proc_read_string(pid_t pid, uint64_t addr, char *buf, size_t size);	/* length, or -errno */
int proc_read_file(pid_t pid, const char *name, char *buf, size_t size);	/* /proc/PID/name; bytes or -errno */
/*
 * Opens /proc/PID/@name to be read by lines, without waiting for a lease that the process has there. NULL, and errno:
 * EAGAIN is such a lease, and then the file counts as one that cannot be read.
 */
FILE *proc_fopen(pid_t pid, const char *name);
int proc_open_memory(pid_t tid);	/* /proc/TID/mem, to read and write; -1 and errno */
/* How long a task has waited for a CPU, by the kernel's account; 0: not known. */
uint64_t proc_starved_ns(pid_t tid);
/*
 * Calls @fn for each line of /proc/PID/maps, which it may change, until that returns something else than 0: that.
 * 0: no line had it, read three times. From Linux 6.17 on a reader may miss a mapping that a thread splits or
 * joins at that moment (30 of 100,000 reads of a process that does nothing else). A caller that only adds to a list,
 * or asks again anyway, may read the file itself; one that takes something for unmapped asks here.
 */
typedef int mapping_fn(void *arg, char *line);
int proc_find_mapping(pid_t pid, mapping_fn *fn, void *arg);
/*
 * /proc/@tid/status is read once, and its auxiliary vector at most once, for the calls of this file that this thread
 * makes until the release: while it is stopped, or waits for us, and what is asked does not change. One task at a time;
 * of others it is read as ever.
 */
void proc_status_hold(pid_t tid);
void proc_status_release(void);
/* a number of /proc/PID/status, -errno if none */
long proc_status_number(pid_t pid, const char *field, int base);
/* The number of a task as it knows it, in its own pid namespace; @tid if nothing else is known. */
pid_t proc_namespace_pid(pid_t tid);
/* The task of process @pid that calls itself @own; 0 none. */
pid_t proc_find_task(pid_t pid, pid_t own);
/* The process that calls itself @own in the pid namespace of @pid; 0 none. */
pid_t proc_find_neighbour(pid_t pid, pid_t own);
int proc_is_undumpable(pid_t pid);		/* its memory is root's to look at; of a process that is root's: 0 */
/* Exiting, a zombie, or gone: /proc/PID/maps and auxv are empty at any moment of it. */
int proc_is_ending(pid_t pid);
int proc_is_runnable(pid_t tid);		/* it runs, or waits for a CPU */
/* Sends a signal to the process of @pidfd, even if @pid is reused; without a pidfd (-1, before Linux 5.3) to @pid. */
void proc_signal(int pidfd, pid_t pid, int sig);
uid_t proc_effective_user(pid_t pid);	/* -1: the process has ended */
int proc_is_of_our_user(pid_t pid);	/* its effective user is ours */
int proc_is_our_tracee(pid_t tid);			/* is it a tracee of this thread's? */
uint64_t proc_start_ticks(pid_t pid);			/* when it was forked: ticks of a 100th after boot; 0 unknown */
uint64_t proc_start_name(pid_t pid, char *comm, size_t size);	/* the same, and the name of its program */

/* ---- task_list.c ----------------------------------------------------------------------------------- */

typedef int each_task_fn(void *arg, pid_t pid, pid_t tid);
/*
 * Calls @fn for each task of a process until it returns something else than 0, and returns that; -ESRCH:
 * there is no process.
 */
int each_task(pid_t pid, each_task_fn *fn, void *arg);
struct asleep {
	char where[160];		/* the line of .../syscall */
	unsigned long long switches;
	long nr;
	uint64_t sp, pc;
};
/* 1: the task sleeps, *a tells where; 0: it runs; -ESRCH: it is gone; another -errno: not known. */
int task_read_asleep(pid_t pid, pid_t tid, struct asleep *a);
/* Does a task that sleeps so wait for the child that it made by vfork? */
int task_is_vfork_wait(pid_t pid, const struct asleep *a);
/* The same by number, flags and, of clone3, the structure's place. */
int is_vfork_call(pid_t pid, long nr, uint64_t arg0);
/* Is @agent the agent's task of process @pid? Its number may be a stranger's in another pid namespace. */
int task_is_agent_of(pid_t pid, pid_t agent);
/*
 * A pidfd of task @agent, which process @pid names as its agent: proved to share the memory of @pid, or to have
 * ended. -EPERM: it is a task of others, which no descriptor may be taken from and no signal sent to. -ESRCH, or
 * another -errno: there is none. Each task that a target names is opened here.
 */
int task_open_agent(pid_t pid, pid_t agent);
pid_t agent_find(pid_t pid);		/* the living agent of @pid, by the memory that they share; 0 none */

#endif

// SPDX-License-Identifier: MIT
/*
 * subject.c - facts of a program's file and of a process, for doctor
 *
 * Facts of a process come from /proc, and from a process_vm_readv() of one byte: for that the kernel makes the same
 * check as for ptrace (PTRACE_MODE_ATTACH_REALCREDS, with yama), and stops no thread.
 */
#include "control/doctor/doctor.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "control/proc/proc_list.h"
#include "control/proc/procinfo.h"
#include "control/start/start.h"
#include "control/relocate/entry.h"
#include "symbol/host.h"
#include "symbol/object_internal.h"

/* ---- The file ------------------------------------------------------------------------------- */

static void read_interp_facts(struct doctor_facts *f, const char *root)
{
	struct uft_object *obj;
	char path[600];

	snprintf(path, sizeof(path), "%s%s", root, f->interp);
	if (uft_object_open(path, &obj, NULL))
		return;
	f->has_interp = 1;
	f->has_rseq_symbol = uft_object_symbol(obj, "__rseq_offset", NULL) != 0;
	uft_object_put(obj);
}

/* Counts the unprepared functions that `uft record` would trace. Called if no function is prepared. */
static void read_unprepared_facts(struct doctor_facts *f, struct uft_object *obj)
{
	struct entries list;
	size_t most = 0;

	if (entries_list(obj, &list))
		return;
	if (!entries_plan(obj, &list, NULL)) {
		f->nplain = list.n;
		f->nplain_ok = list.nskip[ENTRY_OK];
		for (size_t i = 0; i < list.n; i++) {
			f->nplain_trap += list.entry[i].can_trap;
			f->nplain_graph += !list.entry[i].skip && list.entry[i].is_plain;
		}
		f->walker = entries_walker_text(&list);
		for (int i = ENTRY_OK + 1; i < ENTRY_NSKIPS; i++)
			if (list.nskip[i] > most) {
				most = list.nskip[i];
				f->unprepared_why = entry_skip_text((enum entry_skip)i);
			}
	}
	entries_free(&list);
}

static void read_object_facts(struct doctor_facts *f, const char *path, const char *root)
{
	struct uft_error err = { "" };
	const char *interp;
	struct uft_object *obj;

	f->program_error = -uft_object_open(path, &obj, &err);
	if (!f->program_error && obj->machine != HOST_MACHINE) {
		f->program_error = EPFNOSUPPORT;
		uft_fail(&err, -EPFNOSUPPORT, "it is for another architecture (`uft record --emulator` may run it)");
		uft_object_put(obj);
	} else if (!f->program_error) {
		f->runs_guests = headers_run_guests(object_priv(obj)->view.ph, object_priv(obj)->view.nph);
		f->program_error = -uft_object_sites(obj, &err);
		for (size_t i = 0; i < obj->nsite; i++) {
			f->nsites += !obj->site[i].skip;
			f->nskipped += obj->site[i].skip != UFT_SKIP_NONE && obj->site[i].skip != UFT_SKIP_BEFORE;
			f->nframed += !obj->site[i].skip && obj->site[i].is_framed;
		}
		f->nunwind = obj->nunwind;
		f->nbefore = obj->nbefore;
		if (!f->nsites)
			read_unprepared_facts(f, obj);
		f->is_static = obj->is_static;
		f->is_shstk = uft_object_is_shstk(obj);
		f->has_symbols = uft_object_names_from(obj, f->symbols_from, sizeof(f->symbols_from));
		f->has_rseq_symbol = uft_object_symbol(obj, "__rseq_offset", NULL) != 0;
		interp = uft_object_interp(obj);
		if (interp && (size_t)snprintf(f->interp, sizeof(f->interp), "%s", interp) < sizeof(f->interp))
			read_interp_facts(f, root);
		uft_object_put(obj);
	}
	snprintf(f->program_text, sizeof(f->program_text), "%s", err.text);
}

void doctor_look_at_program(struct doctor_facts *f, const char *name)
{
	struct uft_error err = { "" };

	snprintf(f->program, sizeof(f->program), "%s", name);
	f->program_error = -launch_find_program(name, f->program, sizeof(f->program), &err);
	if (!f->program_error && script_interpreter(f->program, f->script, sizeof(f->script))) {
		char script[sizeof(f->script)];

		/* The interpreter is the program that runs; the message names the script first. */
		memcpy(script, f->script, sizeof(script));
		memcpy(f->script, f->program, sizeof(f->script));
		memcpy(f->program, script, sizeof(f->program));
	}
	if (!f->program_error)
		f->program_error = -program_check(f->program, &err);
	if (f->program_error) {
		snprintf(f->program_text, sizeof(f->program_text), "%s", err.text);
		return;
	}
	f->secure = secure_exec_reason(f->program, geteuid(), getegid());
	read_object_facts(f, f->program, "");
}

/* ---- The process ---------------------------------------------------------------------------- */

/* Copies a field's text from the text of a status file; "": there is none. */
static void status_text(const char *status, const char *field, char *buf, size_t size)
{
	size_t len = strlen(field);

	buf[0] = '\0';
	for (const char *p = status; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
		if (!strncmp(p, field, len) && p[len] == ':') {
			p += len + 1;
			p += strspn(p, " \t");
			snprintf(buf, size, "%.*s", (int)strcspn(p, "\n"), p);
			return;
		}
}

static long status_number(const char *status, const char *field)
{
	char buf[32];

	status_text(status, field, buf, sizeof(buf));
	return strtol(buf, NULL, 10);
}

/* Reads the facts of one thread: each may have a tracer, or a filter of its own. */
static void read_task_facts(struct doctor_facts *f, pid_t tid)
{
	char name[64], status[4096], text[256];
	long tracer;

	snprintf(name, sizeof(name), "task/%d/status", tid);
	if (proc_read_file(f->pid, name, status, sizeof(status)) <= 0)
		return;
	f->threads++;
	tracer = status_number(status, "TracerPid");
	if (tracer > 0 && !f->tracer) {
		f->tracer = (pid_t)tracer;
		f->tracer_of = tid;
	}
	if (status_number(status, "Seccomp") > f->seccomp)
		f->seccomp = (int)status_number(status, "Seccomp");
	status_text(status, "x86_Thread_features", text, sizeof(text));
	if (strstr(text, "shstk"))
		f->has_shstk_on = 1;
}

static void read_tasks_facts(struct doctor_facts *f)
{
	DIR *d = proc_list(f->pid);
	pid_t tid;

	while ((tid = proc_list_next(d)))
		read_task_facts(f, tid);
	proc_list_end(d);
	if (f->tracer && proc_read_file(f->tracer, "comm", f->tracer_comm, sizeof(f->tracer_comm)) > 0)
		f->tracer_comm[strcspn(f->tracer_comm, "\n")] = '\0';
}

static int is_other_ns(pid_t pid, const char *ns)
{
	char path[64], its[64] = "", own[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, ns);
	if (readlink(path, its, sizeof(its) - 1) < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/ns/%s", ns);
	return readlink(path, own, sizeof(own) - 1) > 0 && strcmp(its, own) != 0;
}

static void read_namespace_facts(struct doctor_facts *f)
{
	struct stat its, own;
	char path[64];

	f->has_other_mnt = is_other_ns(f->pid, "mnt");
	f->has_other_pid = is_other_ns(f->pid, "pid");
	f->has_other_user = is_other_ns(f->pid, "user");
	snprintf(path, sizeof(path), "/proc/%d/root", f->pid);
	f->has_other_root = stat(path, &its) == 0 && stat("/", &own) == 0 &&
			    (its.st_ino != own.st_ino || its.st_dev != own.st_dev);
}

/* Returns 1 if the process has mapped a session's file. */
static int is_traced_by_us(pid_t pid)
{
	FILE *f = proc_fopen(pid, "maps");
	char *line = NULL;
	size_t room = 0;
	int found = 0;

	while (f && !found && getline(&line, &room, f) > 0)
		found = strstr(line, "/uft") && strstr(line, "/session.") && !strstr(line, "(deleted)");
	free(line);
	if (f)
		fclose(f);
	return found;
}

/* Returns 1 if libc has registered rseq, by __rseq_size in the loader or static program; 0: not; DOCTOR_UNKNOWN. */
static int its_rseq(const struct doctor_facts *f, const char *path, const struct auxv *av)
{
	struct uft_object *obj;
	uint64_t at, bias;
	uint32_t size = 0;

	if (uft_object_open(path, &obj, NULL))
		return DOCTOR_UNKNOWN;
	bias = av->base ? av->base : av->entry - obj->entry;
	at = uft_object_symbol(obj, "__rseq_size", NULL);
	uft_object_put(obj);
	if (!at)
		return 0;
	return proc_read_memory(f->pid, at + bias, &size, sizeof(size)) ? DOCTOR_UNKNOWN : size > 0;
}

static void read_image_facts(struct doctor_facts *f)
{
	char root[64], path[PATH_MAX + 64], exe[PATH_MAX] = "";
	uint8_t raw[UFT_AUXV_MAX];
	struct auxv av = { 0 };
	unsigned flags;
	size_t bytes;
	char state;

	snprintf(root, sizeof(root), "/proc/%d/root", f->pid);
	snprintf(path, sizeof(path), "/proc/%d/exe", f->pid);
	if (readlink(path, exe, sizeof(exe) - 1) < 0) {
		int error = errno;

		/* A kernel thread has no link. The link of another user's process cannot be read, but its flags can. */
		f->is_kernel_thread =
			error == ENOENT || (!procinfo_read_stat(f->pid, "stat", &state, &flags) && flags & PF_KTHREAD);
		errno = error;
		f->program_error = errno;
		snprintf(f->program_text, sizeof(f->program_text), "its executable cannot be read: %s",
			 strerror(errno));
		return;
	}
	snprintf(f->program, sizeof(f->program), "%s", exe);
	read_object_facts(f, path, root);
	f->is_secure = auxv_read(f->pid, raw, &bytes, &av) == 0 && av.secure;
	if (av.base && f->interp[0])
		snprintf(path, sizeof(path), "%s%s", root, f->interp);
	if (f->program_error == 0 && (av.base || av.entry))
		f->its_rseq = its_rseq(f, path, &av);
}

void doctor_look_at_process(struct doctor_facts *f, pid_t pid)
{
	char status[4096], text[64], byte;
	struct iovec mine = { &byte, 1 }, its = { (void *)8, 1 };	/* never mapped: EFAULT means permission */
	struct rlimit lim = { RLIM_INFINITY, RLIM_INFINITY };

	f->pid = pid;
	f->its_rseq = DOCTOR_UNKNOWN;
	if (proc_read_file(pid, "status", status, sizeof(status)) <= 0 || status_number(status, "Tgid") != pid) {
		f->is_gone = 1;
		return;
	}
	status_text(status, "Name", f->comm, sizeof(f->comm));
	status_text(status, "State", text, sizeof(text));
	f->state = text[0];
	f->uid = (int)status_number(status, "Uid");
	f->locked = (uint64_t)status_number(status, "VmLck") << 10;
	f->is_other_user = f->uid != (int)getuid();
	f->is_undumpable = proc_is_undumpable(pid);
	f->access_error = process_vm_readv(pid, &mine, 1, &its, 1, 0) < 0 && errno != EFAULT ? errno : 0;
	prlimit(pid, RLIMIT_MEMLOCK, NULL, &lim);
	f->its_memlock = lim.rlim_cur == RLIM_INFINITY ? UINT64_MAX : lim.rlim_cur;
	read_tasks_facts(f);
	if (f->state == 'Z' || f->state == 'X')
		return;
	read_namespace_facts(f);
	read_image_facts(f);
	f->is_ours = is_traced_by_us(pid);
}

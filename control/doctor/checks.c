// SPDX-License-Identifier: MIT
/*
 * checks.c - judge the facts: one function a check, one row a function
 *
 * fail: uft cannot trace this operand, or would harm it. warn: uft works with a loss, which the text names. A check
 * without facts gives a warning; a check that does not apply gives no finding.
 */
#include "control/doctor/doctor.h"
#include "symbol/host.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* System calls that the runtime makes in a process and that a filter must permit. */
#define RUNTIME_CALLS	"mmap, mprotect, munmap, madvise, openat, read, close, close_range, clone, futex, membarrier, pidfd_open, " \
			"poll, socketpair, recvmsg, kcmp, process_vm_readv, sigaltstack, rt_sigprocmask, rt_sigaction, gettid, getpid, " \
			"prctl, wait4, setsid, chdir, access before execve, exit"

static int say(struct doctor_finding *out, enum doctor_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int say(struct doctor_finding *out, enum doctor_level level, const char *fmt, ...)
{
	va_list ap;

	out->level = level;
	va_start(ap, fmt);
	vsnprintf(out->text, sizeof(out->text), fmt, ap);
	va_end(ap);
	return 1;
}

static int remedy(struct doctor_finding *out, const char *text)
{
	snprintf(out->remedy, sizeof(out->remedy), "%s", text);
	return 1;
}

/* ---- The machine ---------------------------------------------------------------------------- */

/*
 * Returns 1 on machines where only the loader can put the runtime into programs: the session cannot use the registers
 * of stopped tasks there (no_ptrace.c).
 */
static int is_preload_only(const struct doctor_facts *f)
{
	return !strcmp(f->machine, "aarch64") || !strcmp(f->machine, "riscv64");
}

static int judge_cpu(const struct doctor_facts *f, struct doctor_finding *out)
{
	if (is_preload_only(f)) {
		say(out, DOCTOR_WARN,
		    "%s: uft traces programs that uft record starts; running programs, and those linked statically, on "
		    "x86-64 only yet", f->machine);
		return remedy(out, "start the program with uft record");
	}
	if (strcmp(f->machine, "x86_64") != 0)
		return say(out, DOCTOR_FAIL, "this machine is %s; only x86_64, aarch64 and riscv64 are supported",
			   f->machine);
	if (!f->is_cpu_known)
		return say(out, DOCTOR_WARN, "x86_64, but /proc/cpuinfo says nothing");
	if (!strcmp(f->cpu_vendor, "AuthenticAMD"))
		return say(out, DOCTOR_OK, "%s: an entry is switched by one aligned store", f->cpu_vendor);
	return say(out, DOCTOR_OK, "%s: an entry is switched over a two-byte jump", f->cpu_vendor);
}

static int judge_kernel(const struct doctor_facts *f, struct doctor_finding *out)
{
	if (f->pidfd_error) {
		say(out, DOCTOR_FAIL, "Linux %s refuses pidfd_open (%s)", f->kernel, strerror(f->pidfd_error));
		return remedy(out, "Linux 5.3 or later, and a container that permits it");
	}
	if (f->peek_error) {
		say(out, DOCTOR_FAIL, "Linux %s refuses process_vm_readv (%s)", f->kernel, strerror(f->peek_error));
		return remedy(out, "a kernel with CONFIG_CROSS_MEMORY_ATTACH, and a container that permits it");
	}
	if (f->membarrier_error) {
		say(out, DOCTOR_WARN,
		    "Linux %s has no membarrier SYNC_CORE (%s): CPUs are synchronised by moving from one to "
		    "the next, which is slower", f->kernel, strerror(f->membarrier_error));
		return remedy(out, "Linux 4.16 or later");
	}
	return say(out, DOCTOR_OK, "Linux %s: membarrier SYNC_CORE, pidfd%s", f->kernel,
		   f->clone3_error ? "; no clone3" :
		   ", clone3");
}

static int judge_clock(const struct doctor_facts *f, struct doctor_finding *out)
{
	if (is_preload_only(f))
		return say(out, DOCTOR_OK, "the architecture's counter, which has one rate (the kernel's clock: %s)",
			   f->clocksource);
	if (!f->has_constant_tsc || !f->has_nonstop_tsc) {
		say(out, DOCTOR_WARN, "the CPU's time stamp counter is not %s: times and durations may be wrong",
		    f->has_constant_tsc ? "kept running in sleep (nonstop_tsc)" : "of constant rate (constant_tsc)");
		return remedy(out, "in a virtual machine, let the host pass invtsc");
	}
	/*
	 * A paravirtual clock uses the same counter. Another clock source means that the kernel does not trust the
	 * counter, because it drifted.
	 */
	if (strcmp(f->clocksource, "tsc") && strcmp(f->clocksource, "kvm-clock") &&
	    !strstr(f->clocksource, "hyperv") && strcmp(f->clocksource, "xen")) {
		say(out, DOCTOR_WARN,
		    "the kernel keeps time by %s, not by the time stamp counter: it may not agree between CPUs",
		    f->clocksource[0] ? f->clocksource : "an unknown clock");
		return remedy(out, "see why: dmesg | grep -i tsc");
	}
	return say(out, DOCTOR_OK, "tsc, constant and nonstop (the kernel's clock: %s)", f->clocksource);
}

#define YAMA_LOCKED	"kernel.yama.ptrace_scope is 3, which forbids ptrace until the next boot: set 1 in /etc/sysctl.d and reboot"

static int judge_seize(const struct doctor_facts *f, struct doctor_finding *out)
{
	if (f->seize_error) {
		say(out, DOCTOR_FAIL, "a program cannot be started under control: PTRACE_SEIZE of an own child: %s",
		    strerror(f->seize_error));
		return remedy(out, f->yama == 3 ? YAMA_LOCKED :
			      "the container's seccomp profile must permit ptrace");
	}
	if (f->yama == 2 && !f->has_cap_ptrace) {
		say(out, DOCTOR_WARN,
		    "programs can be started; running ones only by root (kernel.yama.ptrace_scope is 2)");
		return remedy(out, "run as root, or sysctl kernel.yama.ptrace_scope=0");
	}
	if (f->yama == 1 && !f->has_cap_ptrace) {
		say(out, DOCTOR_WARN, "programs can be started; running ones only if they are children of uft "
		    "(kernel.yama.ptrace_scope is 1)");
		return remedy(out, "run as root, or sysctl kernel.yama.ptrace_scope=0");
	}
	return say(out, DOCTOR_OK, "permitted here%s",
		   f->has_cap_ptrace ? ", for all users' processes (CAP_SYS_PTRACE)" : "");
}

static int judge_wx(const struct doctor_facts *f, struct doctor_finding *out)
{
	if (f->selinux == 1) {
		say(out, DOCTOR_WARN,
		    "SELinux is enforcing: domains without execmem or execmod refuse to have code changed");
		return remedy(out, "ausearch -m avc -ts recent shows refusals; setsebool deny_execmem off");
	}
	if (f->own_mdwe)
		return say(out, DOCTOR_OK,
			   "writable memory may not become executable (MDWE): text is written through /proc/self/mem");
	return say(out, DOCTOR_OK, "no rule against changing code (MDWE off, SELinux %s)",
		   f->selinux == 0 ? "permissive" : "absent");
}

static int judge_memory(const struct doctor_facts *f, struct doctor_finding *out)
{
	if (f->arena_error) {
		say(out, DOCTOR_FAIL, "no place for the rings: %s", f->arena_text);
		return remedy(out, f->arena_error == ENOSPC ? "free memory there, or enlarge the tmpfs" :
			      "XDG_RUNTIME_DIR or /dev/shm must be a tmpfs, writable and ours alone");
	}
	if (f->arena_ring_bytes < 1u << 20 || f->arena_slices < 16) {
		say(out, DOCTOR_WARN, "%s has little room: %u KB a ring, %u processes at once", f->arena_text,
		    f->arena_ring_bytes >> 10, f->arena_slices);
		return remedy(out, "free memory there, or enlarge the tmpfs");
	}
	return say(out, DOCTOR_OK, "%s: %u KB a ring, %u processes at once", f->arena_text, f->arena_ring_bytes >> 10,
		   f->arena_slices);
}

static int judge_fuse(const struct doctor_facts *f, struct doctor_finding *out)
{
	if (f->fuse_error) {
		say(out, DOCTOR_WARN, "/dev/fuse cannot be opened (%s): no file tree can be mounted",
		    strerror(f->fuse_error));
		return remedy(out, f->fuse_error == EACCES ? "chmod 666 /dev/fuse, as distributions have it" :
			      "modprobe fuse; in a container, pass the device");
	}
	if (!f->is_root && !f->has_fusermount) {
		say(out, DOCTOR_WARN, "/dev/fuse is there, fusermount3 is not: only root can mount a file tree");
		return remedy(out, "apt install fuse3");
	}
	return say(out, DOCTOR_OK, "a file tree can be mounted");
}

/* ---- The program ---------------------------------------------------------------------------- */

static int judge_program(const struct doctor_facts *f, struct doctor_finding *out)
{
	if (f->is_kernel_thread)
		return say(out, DOCTOR_FAIL, "process %d (%s) is a kernel thread: the kernel has its own ftrace",
			   f->pid, f->comm);
	if (f->program_error)
		return say(out, DOCTOR_FAIL, "%s", f->program_text[0] ? f->program_text : strerror(f->program_error));
	if (is_preload_only(f) && f->is_static) {
		say(out, DOCTOR_FAIL, "%s is linked statically: no loader puts the runtime into it", f->program);
		return remedy(out, "link it dynamically");
	}
	if (f->runs_guests)
		return say(out, DOCTOR_FAIL,
			   "%s runs another program in its own address space: uft traces neither of them", f->program);
	if (f->script[0])
		return say(out, DOCTOR_OK, "%s is a script; what runs is %s", f->script, f->program);
	return say(out, DOCTOR_OK, "%s is a %s " HOST_NAME " program", f->program, f->is_static ? "static" : "dynamic");
}

static int judge_sites(const struct doctor_facts *f, struct doctor_finding *out)
{
	char traps[64] = "";

	if (f->program_error)
		return 0;
	if (f->nsites) {
		say(out, DOCTOR_OK, "%zu prepared function entries, %zu functions without", f->nsites, f->nskipped);
		return 1;
	}
	if (f->nbefore && f->nplain_ok)
		return say(out, DOCTOR_OK, "%zu functions with pads before their entries, %zu of them usable",
			   f->nbefore, f->nplain_ok);
	if (f->nplain_trap)
		snprintf(traps, sizeof(traps), "; %zu more by int3, with --int3", f->nplain_trap);
	if (f->nplain_ok)
		return say(out, f->nplain_ok * 2 < f->nplain ? DOCTOR_WARN : DOCTOR_OK,
			   "no function is prepared; of %zu functions %zu can be "
			   "rewritten%s%s%s", f->nplain, f->nplain_ok, f->unprepared_why ? ", most others not: " : "",
			   f->unprepared_why ? f->unprepared_why : "", traps);
	say(out, DOCTOR_WARN,
	    "none of its functions is prepared or can be rewritten: only what it loads or starts can be traced");
	return remedy(out, "build it with the flags that uft cflags prints, or name a library: -l '*:mod:LIBRARY'");
}

static int judge_graph(const struct doctor_facts *f, struct doctor_finding *out)
{
	if (f->program_error || f->nsites || !f->walker)
		return 0;
	say(out, DOCTOR_WARN, "function_graph and profile leave %zu of its %zu functions alone: %s", f->nplain_graph,
	    f->nplain_ok, f->walker);
	return remedy(out, "-p function, which changes no return address");
}

static int judge_symbols(const struct doctor_facts *f, struct doctor_finding *out)
{
	if (f->program_error)
		return 0;
	if (f->has_symbols == 2)
		return say(out, DOCTOR_OK, "all names are known, from %s", f->symbols_from);
	if (f->has_symbols)
		say(out, DOCTOR_WARN, "only exported functions have names (%s)", f->symbols_from);
	else
		say(out, DOCTOR_WARN, "it is stripped: functions are shown as object+0xoffset");
	return remedy(out, "install its -dbgsym package, or set DEBUGINFOD_URLS");
}

static int judge_secure(const struct doctor_facts *f, struct doctor_finding *out)
{
	if (f->pid && f->is_secure)
		return say(out, DOCTOR_WARN, "it gained rights when it was started (AT_SECURE)");
	if (f->secure) {
		say(out, DOCTOR_FAIL, "it gains rights when it is started (%s): such programs are not traced",
		    f->secure);
		return remedy(out, "as root, trace a copy without them, or run it as the user that it becomes");
	}
	return f->program_error ? 0 : say(out, DOCTOR_OK, "it gains none");
}

static int judge_shstk(const struct doctor_facts *f, struct doctor_finding *out)
{
	int is_on = f->pid ? f->has_shstk_on : f->has_user_shstk && f->is_shstk;

	if (f->program_error)
		return 0;
	if (f->pid && !is_on)
		return say(out, DOCTOR_OK, "off in this process");
	if (!is_on)
		return say(out, DOCTOR_OK, "%s", f->is_shstk ? "the program has the note, this machine has none" :
			   "the program was not built for one");
	if (f->pid)
		return say(out, DOCTOR_FAIL,
			   "on: return addresses cannot be put back, so uft could not detach from it");
	if (f->nframed) {
		say(out, DOCTOR_WARN, "%zu entries are calls after the prologue (-pg): function_graph replaces "
		    "their return addresses, which a shadow stack forbids", f->nframed);
		return remedy(out, "-p function, or entries at the start of functions: see uft cflags");
	}
	say(out, DOCTOR_WARN,
	    "may be on: calls and returns stay balanced, but exceptions and a detach in the middle of calls do not");
	return remedy(out, "-p function, or GLIBC_TUNABLES=glibc.cpu.x86_shstk=off");
}

static int judge_rseq(const struct doctor_facts *f, struct doctor_finding *out)
{
	static const char loss[] = "threads share a few exchange rings: slower, and records are lost when all are busy";

	if (f->program_error)
		return 0;
	if (f->rseq_error)
		return say(out, DOCTOR_WARN, "the kernel has no rseq (%s): %s", strerror(f->rseq_error), loss);
	if (f->pid && f->its_rseq == 0)
		return say(out, DOCTOR_WARN, "no C library has registered it in this process: %s", loss);
	if (f->pid && f->its_rseq > 0)
		return say(out, DOCTOR_OK, "registered by its C library");
	if (f->rseq_tunable) {
		say(out, DOCTOR_WARN, "GLIBC_TUNABLES switches it off: %s", loss);
		return remedy(out, "unset GLIBC_TUNABLES");
	}
	if (f->has_rseq_symbol)
		return say(out, DOCTOR_OK, "its C library registers it");
	say(out, DOCTOR_WARN, "%s does not say where it registers it: %s", f->has_interp ? f->interp : "the program",
	    loss);
	return remedy(out, "glibc 2.35 or later; musl never does");
}

/* A program that we start inherits our filter; a running process has its own. */
static int judge_seccomp(const struct doctor_facts *f, struct doctor_finding *out)
{
	int mode = f->pid ? f->seccomp : f->own_seccomp;

	if (mode == 1)
		return say(out, DOCTOR_FAIL, "strict mode: it may only read, write and exit");
	if (mode == 2) {
		say(out, DOCTOR_WARN, "a filter is %s; it must permit, also from another thread: " RUNTIME_CALLS,
		    f->pid ? "in force" : "inherited from this shell");
		return !f->pid ? 1 :
		remedy(out, "uft attach, as root, tries the filter first and names what is missing");
	}
	return say(out, DOCTOR_OK, "no filter");
}

static int judge_memlock(const struct doctor_facts *f, struct doctor_finding *out)
{
	uint64_t limit = f->pid ? f->its_memlock : f->memlock;

	if (limit == UINT64_MAX || f->has_cap_lock)
		return say(out, DOCTOR_OK, "memory may be locked without limit");
	if (f->locked) {
		say(out, DOCTOR_WARN,
		    "%llu KB are locked and the limit is %llu KB: a later mlockall(MCL_CURRENT) counts uft's memory too",
		    (unsigned long long)f->locked >> 10, (unsigned long long)limit >> 10);
		return remedy(out, "prlimit --memlock=unlimited");
	}
	return say(out, DOCTOR_OK, "%llu KB: only a program that calls mlockall(MCL_CURRENT) would notice",
		   (unsigned long long)limit >> 10);
}

/* ---- The process ---------------------------------------------------------------------------- */

static int judge_process(const struct doctor_facts *f, struct doctor_finding *out)
{
	if (f->is_gone)
		return say(out, DOCTOR_FAIL, "there is no process %d", f->pid);
	if (f->state == 'Z' || f->state == 'X')
		return say(out, DOCTOR_FAIL, "process %d (%s) has ended; its parent has not waited for it", f->pid,
			   f->comm);
	if (f->is_ours)
		return say(out, DOCTOR_FAIL, "process %d (%s) is traced by another session of uft", f->pid, f->comm);
	return say(out, DOCTOR_OK, "%d (%s), user %d, %d thread%s", f->pid, f->comm, f->uid, f->threads,
		   f->threads == 1 ? "" : "s");
}

static int judge_access(const struct doctor_facts *f, struct doctor_finding *out)
{
	if (f->is_kernel_thread || f->state == 'Z')
		return 0;
	if (!f->access_error)
		return say(out, DOCTOR_OK, "uft may trace it");
	say(out, DOCTOR_FAIL, "uft may not trace it: %s", strerror(f->access_error));
	if (f->is_other_user)
		return remedy(out, "it belongs to another user: run as root");
	if (f->is_undumpable)
		return remedy(out,
			      "it made itself undumpable (prctl PR_SET_DUMPABLE, or it changed its user): run as root");
	if (f->yama > 0)
		return remedy(out, f->yama == 3 ? YAMA_LOCKED :
			      "run as root, or sysctl kernel.yama.ptrace_scope=0");
	return remedy(out,
		      "run as root; in a container, with CAP_SYS_PTRACE and a seccomp profile that permits ptrace");
}

static int judge_tracer(const struct doctor_facts *f, struct doctor_finding *out)
{
	if (!f->tracer)
		return say(out, DOCTOR_OK, "no other process traces it");
	say(out, DOCTOR_FAIL, "its thread %d is traced by process %d (%s); there can be only one", f->tracer_of,
	    f->tracer, f->tracer_comm[0] ? f->tracer_comm : "?");
	return remedy(out, "detach the debugger");
}

static int judge_namespaces(const struct doctor_facts *f, struct doctor_finding *out)
{
	char what[80];

	if (f->is_kernel_thread || f->state == 'Z')
		return 0;
	if (!f->has_other_mnt && !f->has_other_pid && !f->has_other_user && !f->has_other_root)
		return say(out, DOCTOR_OK, "the same as uft's");
	snprintf(what, sizeof(what), "%s%s%s", f->has_other_mnt ? ", mount namespace" : f->has_other_root ?
		 ", root directory" : "",
		 f->has_other_pid ? ", pid namespace" : "", f->has_other_user ? ", user namespace" : "");
	return say(out, DOCTOR_WARN, "another %s: it sees other files or processes than uft", what + 2);
}

#define FILES		(DOCTOR_PROGRAM | DOCTOR_PROCESS)
#define ALL		(DOCTOR_MACHINE | FILES)
const struct doctor_check doctor_checks[] = {
	{ "process", DOCTOR_PROCESS, judge_process },
	{ "program", FILES, judge_program },
	{ "functions", FILES, judge_sites },
	{ "graph", FILES, judge_graph },
	{ "symbols", FILES, judge_symbols },
	{ "privilege", FILES, judge_secure },
	{ "access", DOCTOR_PROCESS, judge_access },
	{ "tracer", DOCTOR_PROCESS, judge_tracer },
	{ "namespaces", DOCTOR_PROCESS, judge_namespaces },
	{ "seccomp", ALL, judge_seccomp },
	{ "shadow-stack", FILES, judge_shstk },
	{ "rseq", FILES, judge_rseq },
	{ "memlock", ALL, judge_memlock },
	{ "cpu", ALL, judge_cpu },
	{ "kernel", ALL, judge_kernel },
	{ "clock", ALL, judge_clock },
	{ "ptrace", ALL, judge_seize },
	{ "code-writes", ALL, judge_wx },
	{ "rings", ALL, judge_memory },
	{ "fuse", ALL, judge_fuse },
	{ 0 }
};

// SPDX-License-Identifier: MIT
/* machine.c - facts of this machine and of the user's rights, for doctor */
#include "control/doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control/arena/arena.h"

#define PR_GET_MDWE_	66
#define SYS_clone3_	435

/* Reads the first line of a file. 0 or -errno. */
static int read_line(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "re");
	int ret = 0;

	buf[0] = '\0';
	if (!f)
		return -errno;
	if (!fgets(buf, (int)size, f))
		ret = -EIO;
	fclose(f);
	buf[strcspn(buf, "\n")] = '\0';
	return ret;
}

static int read_number(const char *path)
{
	char buf[32];

	return read_line(path, buf, sizeof(buf)) ? DOCTOR_UNKNOWN : atoi(buf);
}

/*
 * Returns the value of the first line of /proc/cpuinfo that begins with @key, with a space on either side, so that
 * " word " finds a flag. NULL: none. The caller frees it.
 */
static char *cpuinfo(const char *key)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char *line = NULL, *found = NULL;
	size_t room = 0;

	while (f && !found && getline(&line, &room, f) > 0)
		if (!strncmp(line, key, strlen(key)) && strchr(line, ':') &&
		    asprintf(&found, "%.*s ", (int)strcspn(strchr(line, ':') + 1, "\n"), strchr(line, ':') + 1) < 0)
			found = NULL;
	free(line);
	if (f)
		fclose(f);
	return found;
}

static void read_cpu_facts(struct doctor_facts *f)
{
	char *flags = cpuinfo("flags"), *vendor = cpuinfo("vendor_id");

	if (vendor)
		sscanf(vendor, "%15s", f->cpu_vendor);
	f->is_cpu_known = flags != NULL;
	f->has_constant_tsc = flags && strstr(flags, " constant_tsc ");
	f->has_nonstop_tsc = flags && strstr(flags, " nonstop_tsc ");
	f->has_user_shstk = flags && strstr(flags, " user_shstk ");
	free(flags);
	free(vendor);
	read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", f->clocksource,
		  sizeof(f->clocksource));
}

/* Seizes a child that only waits, as launch.c does with a program. 0 or errno. */
static int try_seize(void)
{
	pid_t pid = fork();
	int error = 0;

	if (pid < 0)
		return errno;
	if (!pid)
		for (;;)
			pause();
	if (ptrace(PTRACE_SEIZE, pid, 0, 0) < 0)
		error = errno;
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	return error;
}

/* Returns 0 if the kernel has the call, else errno. @known: the errno for the call's bad arguments if it has. */
static int try_call(long ret, int known)
{
	return ret >= 0 || errno == known ? 0 : errno;
}

static void read_kernel_facts(struct doctor_facts *f)
{
	struct utsname u = { .machine = "" };
	struct iovec mine = { &u, 1 }, its = { &u, 1 };
	long ret;
	int fd;

	uname(&u);
	snprintf(f->machine, sizeof(f->machine), "%s", u.machine);
	snprintf(f->kernel, sizeof(f->kernel), "%s", u.release);
	sscanf(u.release, "%d.%d", &f->kernel_major, &f->kernel_minor);
	ret = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
	f->membarrier_error = ret < 0 ? errno : ret & MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE ? 0 : EINVAL;
	f->rseq_error = try_call(syscall(SYS_rseq, 0, 0, 0, 0), EINVAL);
	f->clone3_error = try_call(syscall(SYS_clone3_, NULL, 0), EINVAL);
	f->peek_error = syscall(SYS_process_vm_readv, getpid(), &mine, 1, &its, 1, 0) == 1 ? 0 : errno;
	fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	f->pidfd_error = fd < 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
}

static void read_rights_facts(struct doctor_facts *f)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2] = { 0 };
	struct rlimit lim = { RLIM_INFINITY, RLIM_INFINITY };
	long mdwe = prctl(PR_GET_MDWE_, 0, 0, 0, 0);

	f->is_root = geteuid() == 0;
	if (syscall(SYS_capget, &head, caps) == 0) {
		f->has_cap_ptrace = caps[0].effective >> CAP_SYS_PTRACE & 1;
		f->has_cap_lock = caps[0].effective >> CAP_IPC_LOCK & 1;
	}
	getrlimit(RLIMIT_MEMLOCK, &lim);
	f->memlock = lim.rlim_cur == RLIM_INFINITY ? UINT64_MAX : lim.rlim_cur;
	f->own_seccomp = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
	f->own_mdwe = mdwe > 0;
	f->yama = read_number("/proc/sys/kernel/yama/ptrace_scope");
	f->selinux = read_number("/sys/fs/selinux/enforce");
	f->seize_error = try_seize();
}

static int in_path(const char *name)
{
	const char *dirs = getenv("PATH");
	char path[4096];

	for (dirs = dirs ? dirs : "/usr/bin:/bin"; *dirs; dirs += *dirs == ':') {
		size_t len = strcspn(dirs, ":");

		if (len && (size_t)snprintf(path, sizeof(path), "%.*s/%s", (int)len, dirs, name) < sizeof(path) &&
		    access(path, X_OK) == 0)
			return 1;
		dirs += len;
	}
	return 0;
}

static void read_file_facts(struct doctor_facts *f)
{
	struct uft_session_opts opts = { 0 };
	struct uft_error err = { "" };
	struct arena arena;
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	f->fuse_error = fd < 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
	f->has_fusermount = in_path("fusermount3");
	f->arena_error = -arena_create(&arena, &opts, &err);
	snprintf(f->arena_text, sizeof(f->arena_text), "%s", f->arena_error ? err.text : arena.path);
	if (!f->arena_error) {
		char *slash = strrchr(f->arena_text, '/');

		f->arena_ring_bytes = arena.map->ring_usual;
		f->arena_slices = arena.map->nprocesses;
		if (slash)
			*slash = '\0';
	}
	arena_destroy(&arena);
}

void doctor_look_at_machine(struct doctor_facts *f)
{
	const char *tunables = getenv("GLIBC_TUNABLES");

	read_cpu_facts(f);
	read_kernel_facts(f);
	read_rights_facts(f);
	read_file_facts(f);
	f->rseq_tunable = tunables && strstr(tunables, "glibc.pthread.rseq=0") ? tunables : NULL;
}

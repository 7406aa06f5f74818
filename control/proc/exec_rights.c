// SPDX-License-Identifier: MIT
/*
 * exec_rights.c - programs that must not, or cannot, be traced: told from the file, before anything runs
 *
 * A program that gains rights at exec (setuid, setgid, file capabilities) loses them when an unprivileged process
 * traces it by ptrace: it would misbehave rather than fail. So it is refused, or left alone, before.
 *
 * A program that loads and runs another one in its own address space (a valgrind tool, Wine's preloader)
 * decides itself what lies where, by fixed addresses, and knows nothing of the runtime's mappings; the code
 * of its guest is not its own. It is known by how it is linked: to an address that leaves room for a guest
 * below it, and with neither a loader nor a C library, which would map as they like.
 */
#include "control/proc/proc.h"
#include "symbol/host.h"
#include "symbol/open_regular.h"
#include "symbol/prepare.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

/* a program that leaves so much below it does so for another; compilers' own is 4 MB */
#define GUEST_ROOM	(256ull << 20)
#define SCRIPTS_MAX	5	/* the kernel follows as many, and refuses the next */
#define SCRIPT_LINE	256	/* so much of a script the kernel looks at */

/* "#! /bin/sh -e", the first @n bytes of a file, into "/bin/sh". 0: it is no script. */
static int parse_script_line(char line[SCRIPT_LINE], ssize_t n, char name[SCRIPT_LINE])
{
	char *p = line + 2;

	if (n < 3 || line[0] != '#' || line[1] != '!')
		return 0;
	line[n] = '\0';
	p += strspn(p, " \t");
	p[strcspn(p, " \t\n")] = '\0';
	memcpy(name, p, strlen(p) + 1);
	return *p != '\0';
}

const char *secure_exec_reason(const char *path, uid_t euid, gid_t egid)
{
	struct statvfs fs;
	struct stat st;

	if (stat(path, &st) < 0)
		return NULL;		/* exec will say so */
	if (statvfs(path, &fs) == 0 && fs.f_flag & ST_NOSUID)
		return NULL;
	if (st.st_mode & S_ISUID && st.st_uid != euid)
		return "setuid";
	if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != egid)
		return "setgid";
	if (euid && getxattr(path, "security.capability", NULL, 0) > 0)
		return "file capabilities";
	return NULL;
}

/*
 * Writes @link of process @tid (its cwd or one of its directories) as an absolute name below its root; -errno: it
 * has none. The kernel gives such names below our root.
 */
static int read_directory(pid_t tid, const char *link, char *name, size_t size)
{
	char path[64], root[4096];
	ssize_t n, nroot;

	snprintf(path, sizeof(path), "/proc/%d/%s", tid, link);
	n = readlink(path, name, size - 1);
	snprintf(path, sizeof(path), "/proc/%d/root", tid);
	nroot = readlink(path, root, sizeof(root) - 1);
	if (n <= 0 || nroot <= 0 || name[0] != '/')
		return -ENOENT;
	name[n] = root[nroot] = '\0';
	if (nroot > 1 && !strncmp(name, root, (size_t)nroot) && (name[nroot] == '/' || !name[nroot]))
		memmove(name, name + nroot, (size_t)(n - nroot) + 1);
	return 0;
}

/* Is @name one of the process's own descriptors, as fexecve() calls it? Its number; -1: it is not. */
static int descriptor_of(const char *name)
{
	static const char *const before[] = { "/proc/self/fd/", "/dev/fd/" };

	for (unsigned i = 0; i < 2; i++) {
		size_t n = strlen(before[i]);

		if (!strncmp(name, before[i], n) && name[n] && strspn(name + n, "0123456789") == strlen(name + n))
			return atoi(name + n);
	}
	return -1;
}

/*
 * Opens the file that task @tid would execute by @name: a descriptor of the place. The name is the task's: links in it
 * end below the task's root, and those of /proc, which mean something else to us, are not followed.
 */
static int open_executed(pid_t tid, const char *name, int dirfd)
{
	char link[32], dir[4096] = "", path[3 * 4096];
	int fd = name ? descriptor_of(name) : dirfd;

	if (fd >= 0 && (!name || descriptor_of(name) >= 0)) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", tid, fd);
		fd = open(path, O_PATH | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	if (!name)
		return -ENOENT;
	if (dirfd == AT_FDCWD)
		snprintf(link, sizeof(link), "cwd");
	else
		snprintf(link, sizeof(link), "fd/%d", dirfd);
	if (name[0] != '/' && read_directory(tid, link, dir, sizeof(dir)))
		return -ENOENT;
	snprintf(path, sizeof(path), "/proc/%d/root%s/%s", tid, dir, name);
	return open_place(path, OPEN_FOLLOW); /* GUARD(exec_links, open(path, O_PATH | O_CLOEXEC)) */
}

int executed_path(pid_t tid, const char *name, int dirfd, char *path, size_t size)
{
	char proc[64];
	int fd = open_executed(tid, name, dirfd);
	ssize_t n;

	if (fd < 0)
		return fd;
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	n = readlink(proc, path, size - 1);
	close(fd);
	if (n <= 0 || path[0] != '/')
		return -ENOENT;
	path[n] = '\0';
	return 0;
}

/*
 * The interpreter that the script at @place names, into @name. 0: it is none. The file is the task's: a device or a
 * pipe is not opened, and a lease not waited for.
 */
static int interpreter_of(int place, char name[SCRIPT_LINE])
{
	char proc[64], line[SCRIPT_LINE];
	struct stat st;
	ssize_t n;
	int fd;

	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", place);
	fd = open_regular(proc, OPEN_FOLLOW, &st);
	if (fd < 0)
		return 0;
	n = read(fd, line, sizeof(line) - 1);
	close(fd);
	return parse_script_line(line, n, name);
}

/* Of a script the kernel gives the rights of the last interpreter, and none of the script's own. */
const char *secure_exec_reason_of(pid_t tid, const char *name, int dirfd)
{
	char proc[64], next[SCRIPT_LINE];
	const char *why = NULL;
	struct stat st;
	int fd;

	snprintf(proc, sizeof(proc), "/proc/%d", tid);
	if (stat(proc, &st) < 0)
		return NULL;
	fd = open_executed(tid, name, dirfd);
	for (int depth = 0; depth < SCRIPTS_MAX && fd >= 0; depth++) {
		const int is_script = interpreter_of(fd, next); /* GUARD(exec_scripts, 0) */

		if (!is_script)
			break;
		close(fd);
		fd = open_executed(tid, next, AT_FDCWD);
	}
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	if (fd >= 0) {
		why = secure_exec_reason(proc, st.st_uid, st.st_gid);
		close(fd);
	}
	return why;
}

/*
 * Its user before is the real one: what the file gives is compared with that. A program that had other rights before it
 * executed an ordinary file has gained none.
 */
const char *exec_gained(pid_t tid)
{
	uint8_t raw[UFT_AUXV_MAX];
	char exe[32];
	struct auxv av;
	size_t bytes;

	if (auxv_read(tid, raw, &bytes, &av) || !av.secure)
		return NULL;
	snprintf(exe, sizeof(exe), "/proc/%d/exe", tid);
	return secure_exec_reason(exe, (uid_t)proc_status_number(tid, "Uid", 10),
				  (gid_t)proc_status_number(tid, "Gid", 10));
}

int program_check_rights(const char *path, struct uft_error *err)
{
	char interp[PATH_MAX];
	const char *secure = secure_exec_reason(script_interpreter(path, interp, sizeof(interp)) ? interp : path,
						geteuid(), getegid());

	return secure ? uft_fail(err, -EPERM, "%s gains rights when it is started (%s): such programs are not traced",
				 path, secure) : 0;
}

int headers_run_guests(const Elf64_Phdr *ph, size_t n)
{
	uint64_t first = ~0ull;

	for (size_t i = 0; i < n; i++) {
		if (ph[i].p_type == PT_INTERP || ph[i].p_type == PT_TLS || ph[i].p_type == PT_DYNAMIC)
			return 0;
		if (ph[i].p_type == PT_LOAD && ph[i].p_vaddr < first)
			first = ph[i].p_vaddr;
	}
	return first != ~0ull && first >= GUEST_ROOM;
}

int exec_runs_guests(pid_t pid, const struct auxv *av)
{
	Elf64_Phdr ph[MAX_PHDRS];
	size_t n = av->phnum < MAX_PHDRS ? av->phnum : MAX_PHDRS;

	return !av->base && n && !proc_read_memory(pid, av->phdr, ph, n * sizeof(ph[0])) && headers_run_guests(ph, n);
}

int exec_guests_fail(const char *path, struct uft_error *err)
{
	return uft_fail(err, -EOPNOTSUPP,
			"%s runs another program in its own address space: uft traces neither of them", path);
}

int script_interpreter(const char *path, char *interp, size_t size)
{
	char line[SCRIPT_LINE], name[SCRIPT_LINE] = "";
	int is_script = 0;

	for (int depth = 0; depth < SCRIPTS_MAX; depth++) {
		int fd = open(depth ? name : path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);

		if (fd >= 0)
			close(fd);
		if (!parse_script_line(line, n, name))
			break;
		is_script = 1;
	}
	if (is_script)
		snprintf(interp, size, "%s", name);
	return is_script;
}

int program_check(const char *path, struct uft_error *err)
{
	Elf64_Ehdr eh;
	struct stat st;
	ssize_t n;
	int fd;

	if (stat(path, &st) < 0)
		return uft_fail(err, -errno, "cannot start %s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return uft_fail(err, -EISDIR, "cannot start %s: it is a directory", path);
	if (access(path, X_OK) < 0)
		return uft_fail(err, -EACCES, "cannot start %s: it is not executable", path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return uft_fail(err, -errno, "cannot read %s: %s", path, strerror(errno));
	n = read(fd, &eh, sizeof(eh));
	close(fd);
	if (n >= 2 && !memcmp(&eh, "#!", 2))
		return 0;		/* what counts is the interpreter: checked when it is in place */
	if (n < (ssize_t)sizeof(eh) || memcmp(eh.e_ident, ELFMAG, SELFMAG))
		return uft_fail(err, -ENOEXEC, "cannot start %s: neither an ELF program nor a script with a #! line",
				path);
	if (eh.e_ident[EI_CLASS] == ELFCLASS64 && eh.e_ident[EI_DATA] == ELFDATA2LSB && eh.e_machine == HOST_MACHINE)
		return 0;
	if (eh.e_ident[EI_CLASS] == ELFCLASS64 && eh.e_ident[EI_DATA] == ELFDATA2LSB &&
	    uft_prepare_emulator(eh.e_machine))
		return uft_fail(err, -EPFNOSUPPORT,
				"cannot trace %s: it is for another architecture, which takes an emulator: "
				"uft record --emulator='%s'", path, uft_prepare_emulator(eh.e_machine));
	return uft_fail(err, -EPFNOSUPPORT, "cannot trace %s: it is for another architecture (only " HOST_NAME
			" programs of 64 bits are supported)", path);
}

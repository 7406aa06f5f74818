// SPDX-License-Identifier: MIT
/*
 * seccomp_risk.c - tell whether a seccomp filter may refuse the runtime's calls in a target's threads
 *
 * seccomp.c reads the filters that are there. The wakeup tracers ask the kernel for policy and priority in
 * the program's own threads, with calls that no program needs, at any time later: then a filter may have come
 * that kills for them. So they ask only where none is and none can come: no thread has one, and no object
 * imports what one is made with. Looked at anew whenever an object is mapped, before anybody runs in it. Who
 * says no loses nothing but a `?`.
 *
 * Not seen: a program that makes the call by an instruction of its own, or finds the function by dlsym().
 */
#include "control/target/target.h"
#include "control/ptrace/task_stop.h"

#include <string.h>

static int has_filter(void *arg, pid_t pid, pid_t tid)
{
	(void)arg, (void)pid;
	return proc_status_number(tid, "Seccomp", 10) > 0;
}

int seccomp_risk_is_possible(const struct target *t, const char **why)
{
	static const char *const makers[] = { "prctl", "__prctl", "syscall", "seccomp", "seccomp_load" };
	const struct uft_image *img = t->space->img;
	int has_libc = 0;

	*why = NULL;
	for (uint32_t i = 0; i < img->nobj; i++) {
		const char *name = uft_base_name(img->obj[i].obj->path);

		has_libc |= !strncmp(name, "libc.so", 7) || !strncmp(name, "libc-", 5);
		if (!strncmp(name, "libstdc++.so", 12))		/* its syscall() is futex() */
			continue;
		for (size_t k = 0; k < sizeof(makers) / sizeof(makers[0]); k++)
			if (uft_object_imports(img->obj[i].obj, makers[k])) {
				*why = makers[k];
				return 1;
			}
	}
	if (!has_libc)		/* static, or not loaded yet: what it imports says nothing */
		return 1;
	if (each_task(t->pid, has_filter, NULL)) {
		*why = "a seccomp filter";
		return 1;
	}
	return 0;
}

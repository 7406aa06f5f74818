/* SPDX-License-Identifier: MIT */
/*
 * kernel.c - what the runtime needs of a kernel and emulators of programs lack or feign, on the kernel itself
 *
 *	kernel [CASE]
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/rseq.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/arch/arch.h"
#include "runtime/platform/platform.h"
#include "tests/unit/ring/lab.h"

static long membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0);
}

/* A system call that ends the process. */
static void forbid(int nr)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(*code), code };

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter));
}

/* The kernel can make all CPUs fetch anew, the runtime registers for it, and does not go from CPU to CPU instead. */
static void test_membarrier(void)
{
	long all = membarrier(MEMBARRIER_CMD_QUERY);

	CHECK(all > 0 && all & MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE &&
	      all & MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE);
	CHECK(membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE) == -1 && errno == EPERM);
	CHECK(!plat_sync_init());
	CHECK(!membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE));
	forbid(SYS_sched_setaffinity);
	for (int i = 0; i < 100; i++)
		plat_sync_cores();
}

/* A fork child's registration comes along or is made again: without visits, too. */
static void test_membarrier_fork(void)
{
	int status;
	pid_t pid;

	CHECK(!plat_sync_init());
	forbid(SYS_sched_setaffinity);
	pid = fork();
	if (!pid) {
		plat_sync_cores();
		_exit(membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE) ? 1 : 0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
}

/* What tells a fork child that it is one (ring.c). */
static void test_wipe_on_fork(void)
{
	char *p = mmap(NULL, UFT_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid;

	CHECK(p != MAP_FAILED && !madvise(p, UFT_PAGE, MADV_WIPEONFORK));
	*p = 1;
	pid = fork();
	if (!pid)
		_exit(*p);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
	CHECK_EQ(*p, 1);
}

static void *on_each_cpu(void *unused)
{
	const volatile uint32_t *cpu = (const volatile uint32_t *)(arch_thread_pointer() +
		(uint64_t)(int64_t)__rseq_offset +
								   offsetof(struct rseq, cpu_id));
	cpu_set_t one;

	for (int i = 0; i < sysconf(_SC_NPROCESSORS_ONLN); i++) {
		CPU_ZERO(&one);
		CPU_SET(i, &one);
		CHECK(!sched_setaffinity(0, sizeof(one), &one));
		CHECK_EQ(*cpu, (unsigned)i);
	}
	return unused;
}

/* Where libc has registered threads for restartable sections it stays so: the kernel goes on telling each its CPU. */
static void test_rseq(void)
{
	struct lab_config c = { 0 };
	pthread_t thread;

	CHECK(__rseq_size);
	on_each_cpu(NULL);
	lab_init(&c);
	on_each_cpu(NULL);
	CHECK(!pthread_create(&thread, NULL, on_each_cpu, NULL));
	pthread_join(thread, NULL);
	/* A thread has one area: that a second one is refused shows that the first is in force. */
	CHECK(syscall(SYS_rseq, aligned_alloc(32, 32), 32, 0, 0) == -1 && errno == EINVAL);
}

static const struct lab_case cases[] = {
	{ "membarrier", test_membarrier }, { "membarrier_fork", test_membarrier_fork },
	{ "wipe_on_fork", test_wipe_on_fork },
	{ "rseq", test_rseq }, { NULL, NULL },
};

int main(int argc, char **argv)
{
	CHECK_EQ(getauxval(AT_PAGESZ), UFT_PAGE);
	return lab_main(cases, argc > 1 ? argv[1] : NULL);
}

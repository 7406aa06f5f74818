/* SPDX-License-Identifier: MIT */
/*
 * session.c - a session in miniature: the preloaded runtime in a dynamic program, on the kernel itself
 *
 *	session LEAF MID	addresses of the two functions of /prog (hexadecimal); it is at a fixed place
 *
 * What uft record does (control/start/preload.c), for one program of which all is known: a file to record in, the program started with
 * libuft.so before it, its hello answered when both functions are armed and the forks of its libc hooked. What it did is then in the
 * rings, call by call, what its child did in the child's own, which has no memory of its parent's; before its end it is left, and its
 * code is as it was.
 */
#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/arch/arch.h"
#include "tests/unit/ring/lab.h"

#define ARENA		"/dev/shm/arena"
#define FIRST_STUB	64u	/* 64 ids, as lab_replay() counts them */
#define CHILDREN	1u
#define NHOOKS		8u
#define NR_CLONE	220u

static struct uft_cmd *command;

static void wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 0x7fffffff, NULL, NULL, 0);
}

static int is_over(pid_t pid, int *status)
{
	return waitpid(pid, status, WNOHANG) == pid;
}

/* By the agent; its result. */
static int run(uint32_t op, uint32_t n, uint32_t flags, const void *payload, size_t bytes)
{
	uint32_t seq = uft_rt.slice->cmd_seq + 1;

	*command = (struct uft_cmd){ .op = op, .n = n, .object = 1, .flags = flags };
	memcpy((char *)command + UFT_CMD_PAYLOAD, payload, bytes);
	__atomic_store_n(&uft_rt.slice->cmd_seq, seq, __ATOMIC_RELEASE);
	wake(&uft_rt.slice->cmd_seq);
	while (__atomic_load_n(&uft_rt.slice->cmd_done, __ATOMIC_ACQUIRE) != seq)
		usleep(1000);
	memcpy((char *)payload, (char *)command + UFT_CMD_PAYLOAD, bytes);
	return uft_rt.slice->cmd_result;
}

static pid_t start_program(int *hold)
{
	char arena[64], *argv[] = { "/prog", "wait", NULL }, *envp[] = { "LD_PRELOAD=/libuft.so", arena, NULL };
	int fds[2];
	pid_t pid;

	snprintf(arena, sizeof(arena), "UFT_ARENA=%lx:%s",
		 (unsigned long)(uft_rt.arena->slice_offset + uft_rt.arena->slice_bytes), ARENA);
	CHECK(!pipe(fds));
	pid = fork();
	if (!pid) {
		close(fds[1]);
		dup2(fds[0], 0);
		execve(argv[0], argv, envp);
		_exit(127);
	}
	close(fds[0]);
	*hold = fds[1];
	return pid;
}

/* In any of the families: it takes one of them. */
static struct uft_request *find_hello(void)
{
	for (uint32_t slice = 0; slice < 1 + CHILDREN; slice++) {
		lab_use(slice);
		for (int i = 0; i < UFT_NREQUESTS; i++) {
			struct uft_request *r = &uft_rt.mail->req[i];

			if (__atomic_load_n(&r->state, __ATOMIC_ACQUIRE) == UFT_REQ_POSTED && r->kind == UFT_REQ_HELLO)
				return r;
		}
	}
	return NULL;
}

static struct uft_request *await_hello(pid_t pid)
{
	struct uft_request *r;
	int status;

	while (!(r = find_hello())) {
		if (is_over(pid, &status)) {
			fprintf(stderr, "/prog ended with status %x and said no hello: %d\n", status,
				uft_rt.mail->start_error);
			exit(1);
		}
		usleep(1000);
	}
	command = (struct uft_cmd *)((char *)uft_rt.slice + uft_rt.arena->cmd_offset);
	lab_note_libc();
	return r;
}

/* Does a line of the process's maps have that? Its first address; 0 no. */
static uint64_t find_mapping(pid_t pid, const char *what, const char *rights)
{
	unsigned long long lo, found = 0;
	char line[512];
	FILE *f;

	snprintf(line, sizeof(line), "/proc/%d/maps", pid);
	f = fopen(line, "r");
	while (f && !found && fgets(line, sizeof(line), f))
		if (strstr(line, what) && strstr(line, rights) && sscanf(line, "%llx-", &lo) == 1)
			found = lo;
	if (f)
		fclose(f);
	return found;
}

/* As control/plan/fork_calls.c, of what follows the number at once: _Fork() is so, vfork() and clone(), which pass. */
static void hook_forks(pid_t pid)
{
	const size_t size = 2 << 20;
	uint32_t *code = malloc(size);
	uint64_t at = find_mapping(pid, "libc.so.6", " r-xp ");
	struct iovec ours = { code, size }, its = { (void *)at, size };
	struct uft_hook h[NHOOKS];
	ssize_t bytes = at && code ? process_vm_readv(pid, &ours, 1, &its, 1, 0) : 0;
	uint32_t n = 0;

	for (ssize_t i = 0; i + 8 <= bytes && n < NHOOKS; i += 4)
		if (a64_is_mov(code[i / 4], 8, NR_CLONE) && code[i / 4 + 1] == A64_SVC) {
			h[n] = (struct uft_hook){
				.addr = at + (uint64_t)i + 4, .kind = UFT_HOOK_SYSCALL, .nr = NR_CLONE, .len = 4
			};
			memcpy(h[n++].bytes, &code[i / 4 + 1], 4);
		}
	CHECK(n > 0);
	CHECK_EQ(run(UFT_CMD_HOOK, n, 0, h, n * sizeof(*h)), 0);
	for (uint32_t i = 0; i < n; i++)
		CHECK_EQ(h[i].result, 0);
	free(code);
}

/* The child waits, for the end of its input as its parent does. */
static void check_child(uint32_t slice)
{
	pid_t pid = (pid_t)lab_pid(slice);
	char name[64];

	snprintf(name, sizeof(name), "%s%s%u\n", ARENA, UFT_FAMILY_SUFFIX, slice);
	CHECK(find_mapping(pid, name, " rw-s "));
	snprintf(name, sizeof(name), "%s%s%u\n", ARENA, UFT_FAMILY_SUFFIX, uft_rt.slice_index);
	CHECK(!find_mapping(pid, name, ""));
}

static void arm(const uint64_t *site)
{
	struct uft_tracer_params params = { .tracer = UFT_TRACER_GRAPH };
	struct uft_cmd_object o = {
		.text_start = site[0] & -(uint64_t)UFT_PAGE, .text_end = (site[1] & -(uint64_t)UFT_PAGE) + UFT_PAGE,
		.object = 1,
		.nstubs = 2, .first_text_id = 1000, .first_stub_id = FIRST_STUB,
	};
	struct uft_patch p[2];

	for (uint32_t i = 0; i < 2; i++)
		p[i] = (struct uft_patch){ .addr = site[i], .stub = i,
			.kind_len = UFT_KIND_LEN(UFT_SITE_NOPS, ARCH_ENTRY_BYTES),
			.state = UFT_GRAPH };
	CHECK_EQ(run(UFT_CMD_OBJECT, 1, 0, &o, sizeof(o)), 0);
	CHECK_EQ(run(UFT_CMD_TRACER, 1, 0, &params, sizeof(params)), 0);
	CHECK_EQ(run(UFT_CMD_PATCH, 2, UFT_PATCH_FRESH, p, sizeof(p)), 0);
	CHECK(p[0].status == UFT_ST_OK && p[1].status == UFT_ST_OK);
}

static void read_words(pid_t pid, uint64_t at, uint32_t *w)
{
	struct iovec ours = { w, 8 }, its = { (void *)at, 8 };

	CHECK(process_vm_readv(pid, &ours, 1, &its, 1, 0) == 8);
}

static uint64_t ended(const struct lab_events *ev, uint32_t stub)
{
	return lab_count(ev, 0, UFT_REC_EXIT, FIRST_STUB + stub);
}

/* Three threads with 1000 calls of mid() each, and one of the child: two of leaf() below each. */
static void check_records(void)
{
	struct lab_events *ev = lab_decode();
	struct lab_replay r;

	CHECK_EQ(ev->damaged, 0);
	CHECK_EQ(ev->backwards, 0);
	CHECK_EQ(ev->lost_counted, 0);
	CHECK_EQ(lab_count(ev, 0, UFT_REC_ENTRY, FIRST_STUB + 0), 6002);
	CHECK_EQ(lab_count(ev, 0, UFT_REC_ENTRY, FIRST_STUB + 1), 3001);
	CHECK_EQ(ended(ev, 0), 6002);
	CHECK_EQ(ended(ev, 1), 3001);
	for (size_t i = 0; i < ev->n; i++) {
		CHECK_EQ(ev->e[i].pid, lab_pid(ev->e[i].slice));
		if (i && ev->e[i].tid == ev->e[i - 1].tid)
			continue;
		CHECK_REPLAY(ev, ev->e[i].tid, &r);
		CHECK_EQ(r.open, 0);
		CHECK(r.depth_max == 2);
	}
	for (int i = 0; i < UFT_NCOUNTERS; i++)
		if (i != UFT_CNT_PATCHED)
			CHECK_EQ(lab_counter(i), 0);
	lab_free(ev);
}

int main(int argc, char **argv)
{
	struct lab_config c = { .nslices = 1 + CHILDREN, .nexch = 16 };
	uint32_t words[2], nothing = 0;
	struct uft_request *hello;
	struct lab_events *ev;
	int hold, status;
	uint64_t site[2], n;
	pid_t pid;

	CHECK(argc == 3);
	site[0] = strtoull(argv[1], NULL, 16);
	site[1] = strtoull(argv[2], NULL, 16);
	lab_make_arena(&c, ARENA);
	pid = start_program(&hold);
	hello = await_hello(pid);
	arm(site);
	hook_forks(pid);
	read_words(pid, site[0], words);
	CHECK(words[0] != ARCH_INSN_NOP && words[1] != ARCH_INSN_NOP);
	__atomic_store_n(&hello->state, UFT_REQ_DONE, __ATOMIC_RELEASE);
	wake(&hello->state);
	do {
		CHECK(!is_over(pid, &status));
		usleep(20000);
		ev = lab_decode();
		n = ended(ev, 1);
		lab_free(ev);
	} while (n < 3001);
	/* Its threads have done, or wait; so do the first one, for its child, and that. */
	check_child(!uft_rt.slice_index);
	CHECK_EQ(run(UFT_CMD_LEAVE, 0, 0, &nothing, 0), 0);
	run(UFT_CMD_UNHOOK, 0, 0, &nothing, 0);
	CHECK_EQ(run(UFT_CMD_AGENT_EXIT, 0, 0, &nothing, 0), 0);
	read_words(pid, site[0], words);
	CHECK_EQ(words[1], ARCH_INSN_NOP);
	close(hold);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
	check_records();
	printf("session: 9003 calls of a preloaded program recorded\n");
	return 0;
}

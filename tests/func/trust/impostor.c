// SPDX-License-Identifier: MIT
/*
 * impostor.c - a target that says that it is another one
 *
 * Usage: impostor HOW, a process that is attached to. It forks a victim, which is traced and keeps a page of its own, and an
 * impostor, which gives up its rights if it has any and then
 *	map	is as "fork", and the victim has mapped the impostor's memory, to read it, as a program may that reads another user's files
 *	fork	claims the slice of its own memory in the name of the victim and of the victim's agent, says so to the recorder,
 *		and answers for it: all that is mapped is the victim's page
 *	guard	is itself at first, and changes that word of itself later, when the victim has mapped its memory
 *	exec	asks for an exec by the victim's thread, which is not to be touched
 * In a folder that all can write to it makes the file "ready" once the recorder has looked, and goes on until there is a file "over". Exit status: 0; 1 the victim came
 * to harm; 2 nothing could be tried; 3 it is not traced.
 */
#include "peek.h"
#include "uft/abi.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct victim {
	pid_t pid, agent;
	char *page;
};

static struct uft_arena *board;
static struct uft_mail *mail;
static struct uft_slice *slice;
static uint32_t number;		/* of the slice */
static char family[1024];	/* the path of the file that it lies in */

__attribute__((noinline)) int work(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

static struct uft_slice *slice_of(const struct uft_mail *of)
{
	return (struct uft_slice *)((char *)(uintptr_t)of + (sizeof(*of) + UFT_PAGE - 1) / UFT_PAGE * UFT_PAGE);
}

/* The board, and this process's family, or a spare while it has none; 0: there are none. */
static int find_memory(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[1024], *suffix;
	uint32_t pid = 0, it;

	mail = NULL;
	while (f && fgets(line, sizeof(line), f)) {
		unsigned long long lo;

		if (!strstr(line, "/session.") || sscanf(line, "%llx-", &lo) != 1)
			continue;
		if (strstr(line, UFT_BOARD_SUFFIX "\n"))
			board = (struct uft_arena *)(uintptr_t)lo;
		else if ((suffix = strstr(line, UFT_FAMILY_SUFFIX)) && (!mail || pid != (uint32_t)getpid()) &&
			 peek(&it, &slice_of((struct uft_mail *)(uintptr_t)lo)->pid, sizeof(it))) {
			pid = it;
			mail = (struct uft_mail *)(uintptr_t)lo;
			slice = slice_of(mail);
			number = (uint32_t)atoi(suffix + strlen(UFT_FAMILY_SUFFIX));
			sscanf(strchr(line, '/'), "%1023[^\n]", family);
		}
	}
	if (f)
		fclose(f);
	return board && mail;
}

/* Does it have records of its own, and an agent? */
static int is_traced(void)
{
	uint32_t pid, agent;
	uint64_t used;

	return find_memory() && peek(&pid, &slice->pid, sizeof(pid)) && pid == (uint32_t)getpid() &&
	       peek(&agent, &slice->agent_tid, sizeof(agent)) && agent && peek(&used, &slice->used[0], sizeof(used)) &&
	       used;
}

static void futex_wake(void *word)
{
	syscall(SYS_futex, word, 1, INT_MAX, NULL, NULL, 0);
}

/* Posts a request, and waits until it was answered. */
static int ask(struct uft_request r)
{
	struct uft_request *to = &mail->req[UFT_NREQUESTS - 1];

	r.state = UFT_REQ_CLAIMED;
	r.slice = number;
	*to = r;
	__atomic_store_n(&to->state, UFT_REQ_POSTED, __ATOMIC_RELEASE);
	__atomic_store_n(&mail->posted, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < 1000 && __atomic_load_n(&to->state, __ATOMIC_ACQUIRE) == UFT_REQ_POSTED; i++) {
		futex_wake(&board->bell);
		usleep(10000);
	}
	return to->state != UFT_REQ_POSTED;
}

/* Answers what the recorder commands: all that is mapped is the victim's page. */
static void answer(const struct victim *v)
{
	struct uft_cmd *c = (struct uft_cmd *)((char *)slice + board->cmd_offset);
	struct uft_owned own = { (uintptr_t)v->page, UFT_PAGE };

	if (slice->cmd_done == slice->cmd_seq)
		return;
	if (c->op == UFT_CMD_MAPPINGS) {
		c->n = 1;
		memcpy((char *)c + UFT_CMD_PAYLOAD, &own, sizeof(own));
	} else if (c->op == UFT_CMD_LEAVE) {
		c->n = 0;
	}
	slice->cmd_result = 0;
	__atomic_store_n(&slice->cmd_done, slice->cmd_seq, __ATOMIC_RELEASE);
	futex_wake(&slice->cmd_done);
}

static int tracer_of(pid_t pid)
{
	char path[64], line[256];
	int tracer = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "TracerPid: %d", &tracer);
	if (f)
		fclose(f);
	return tracer;
}

static void lie(const struct victim *v)
{
	slice->pid = (uint32_t)v->pid;
	slice->agent_tid = (uint32_t)v->agent;
}

/* Is what the victim's rings have in each record's context anywhere in what this process shares with the recorder? */
static int can_see(const struct victim *v)
{
	const uint64_t context = (uint64_t)(uint32_t)v->pid << 32 | (uint32_t)v->pid;
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long long lo;
	char line[1024];
	int seen = 0;

	while (f && fgets(line, sizeof(line), f) && !seen) {
		if (!strstr(line, UFT_FAMILY_SUFFIX) || !strstr(line, "/session.") || sscanf(line, "%llx-", &lo) != 1)
			continue;
		for (uint32_t ring = 0; ring < board->ncpus; ring++) {
			const uint64_t *p = (const void *)((char *)slice_of((struct uft_mail *)(uintptr_t)lo) +
							   board->ring_offset + ring * board->ring_stride);

			for (unsigned i = 0; i < 8192; i++)
				seen |= p[i] == context;
		}
	}
	if (f)
		fclose(f);
	return seen;
}

/* Tells the victim the path of this process's memory, and waits until it has mapped that. */
static void give_file(void)
{
	FILE *f = fopen("path.new", "w");

	if (!f || fputs(family, f) < 0 || fclose(f) || rename("path.new", "path"))
		_exit(2);
	for (int i = 0; access("mapped", F_OK); i++, usleep(10000))
		if (i == 1000)
			_exit(2);
}

/* The victim's side of that. */
static void take_file(void)
{
	FILE *f = fopen("path", "r");
	char path[1024] = "";
	int fd;

	if (!f)
		return;
	fd = fgets(path, sizeof(path), f) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	fclose(f);
	if (fd < 0 || mmap(NULL, UFT_PAGE, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
		_exit(2);
	close(fd);
	fd = creat("mapped", 0666);
	close(fd);
	unlink("path");
}

/* Never returns. */
static void impersonate(const struct victim *v, const char *how)
{
	int is_honest = strcmp(how, "fork") && strcmp(how, "map"), is_harmed = 0, ready;

	if (getuid() == 0 && (setgid(65534) || setuid(65534)))
		_exit(2);
	prctl(PR_SET_DUMPABLE, 1);	/* else its own /proc is root's */
	if (is_honest)
		work(0);
	for (int i = 0; is_honest ? !is_traced() : !find_memory(); i++, usleep(10000))
		if (i == 1000)
			_exit(2);
	if (strcmp(how, "fork") && strcmp(how, "exec"))
		give_file();
	if (!is_honest) {
		slice->clock_start = 1;
		slice->parent_slice = UINT32_MAX;
		lie(v);
		__atomic_store_n(&slice->state, UFT_SLICE_LIVE, __ATOMIC_RELEASE);
		if (!ask((struct uft_request){ .kind = UFT_REQ_FORKED, .pid = (uint32_t)v->pid, .tid = (uint32_t)v->pid,
			.no_wait = 1, .arg = { number } }))
			_exit(2);
	} else if (!strcmp(how, "exec")) {
		if (!ask((struct uft_request){
			    .kind = UFT_REQ_EXEC, .pid = (uint32_t)getpid(), .tid = (uint32_t)v->pid }))
			_exit(2);
		is_harmed = tracer_of(v->pid) != 0 || can_see(v);
	} else {
		syscall(SYS_kill, slice->agent_tid, SIGKILL);
		lie(v);
	}
	ready = creat("ready", 0666);
	close(ready);
	for (uint64_t i = 0; i % 4096 || access("over", F_OK); i++)	/* before the victim's agent does */
		if (strcmp(how, "exec"))
			answer(v);
		else
			usleep(100);
	_exit(is_harmed);
}

/* Never returns. What is in its page stays its own. */
static void be_victim(int to)
{
	struct victim v = { .pid = getpid(),
		.page = mmap(NULL, UFT_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) };
	int n = 0;

	if (v.page == MAP_FAILED)
		_exit(2);
	strcpy(v.page, "mine");
	for (int i = 0; !is_traced(); i++, usleep(10000)) {
		n = work(n);
		if (i == 1000)
			_exit(2);
	}
	v.agent = (pid_t)slice->agent_tid;
	if (write(to, &v, sizeof(v)) != (ssize_t)sizeof(v))
		_exit(2);
	while (access("over", F_OK)) {
		n = work(n);
		take_file();
		if (strcmp(v.page, "mine"))
			_exit(1);
		usleep(1000);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	int told[2], its = 0, others = 0;
	pid_t victim, impostor;
	struct victim v;

	if (argc < 2 || pipe(told))
		return 2;
	alarm(120);
	for (int i = 0; !is_traced(); i++, usleep(10000)) {
		work(i);
		if (i == 3000)
			return 3;
	}
	victim = fork();
	if (victim == 0)
		be_victim(told[1]);
	close(told[1]);
	if (read(told[0], &v, sizeof(v)) != (ssize_t)sizeof(v))
		return 2;
	impostor = fork();
	if (impostor == 0)
		impersonate(&v, argv[1]);
	waitpid(impostor, &others, 0);
	waitpid(victim, &its, 0);
	if (!WIFEXITED(its) || WEXITSTATUS(its) == 1 || (WIFEXITED(others) && WEXITSTATUS(others) == 1))
		return 1;
	/* The impostor may have died of what was taken out of it. */
	return WEXITSTATUS(its) || (WIFEXITED(others) && WEXITSTATUS(others)) ? 2 : 0;
}

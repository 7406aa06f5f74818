/* SPDX-License-Identifier: MIT */
/*
 * preload.c - the runtime as a library that the loader loads, for hosts without ptrace (an emulator)
 *
 * libuft.so needs the loader and no other library. Its initialisation function runs before that of any other object (-z
 * initfirst), when only the first thread exists. It maps the session's board, whose path is in the environment
 * (UFT_ARENA), takes a spare family as a fork child does, starts the agent as a thread, tells the session
 * (UFT_REQ_HELLO) and waits until the session has armed its sites. After any failure the program is as without uft.
 *
 * The agent is a thread of the process here, because emulators can share memory in no other way. It keeps no descriptor
 * (they are the program's), and ends with the process.
 */
#include "runtime/agent/agent.h"
#include "runtime/arch/arch.h"
#include "runtime/base/mem.h"
#include "runtime/base/sys.h"

#define AT_END		0
#define AT_IGNORE	1
#define AT_PAGE_BYTES	6
#define CLOCK_TRIES	8

extern const char __ehdr_start[], _end[];	/* made by the linker: where this library lies */

/* Returns the text behind NAME=; NULL: there is no such variable. */
static char *find_variable(char **envp, const char *name)
{
	for (; *envp; envp++) {
		unsigned i;

		for (i = 0; name[i] && (*envp)[i] == name[i]; i++)
			;
		if (!name[i])
			return *envp + i;
	}
	return NULL;
}

/*
 * Maps the session of BYTES:PATH, BYTES!PATH, BYTES?PATH or BYTES;PATH, with BYTES in hexadecimal; or returns -errno.
 * With ! the environment must not name this library any more: programs that an emulated program executes may be for
 * another machine, whose loader would complain. With ? and ; the last two variables are uft's alone (take_back()).
 * With ? the agent is a process, because the program has another tracer.
 */
static int map_session(const char *value, char *how)
{
	const char *end = value + mem_strlen(value);

	uft_boot.arena_bytes = mem_get_number(&value, end, 16);
	*how = *value;
	if ((*value != ':' && *value != '!' && *value != '?' && *value != ';') || !uft_boot.arena_bytes)
		return -EINVAL;
	return boot_map_board(value + 1);
}

static const uint64_t *find_auxv(char **envp)
{
	while (*envp)
		envp++;
	return (const uint64_t *)(envp + 1);
}

/* Checks the page size: protections of parts of mappings change in pieces of UFT_PAGE. */
static int check_pages(char **envp)
{
	const uint64_t *av = find_auxv(envp);

	while (av[0] != AT_END && av[0] != AT_PAGE_BYTES)
		av += 2;
	if (av[0] == AT_END || av[1] == UFT_PAGE)
		return 0;
	uft_store(&uft_rt.mail->page_bytes, (uint32_t)av[1]);
	return -EOPNOTSUPP;
}

static void fill_hello(struct uft_hello *h, char **envp)
{
	const uint64_t *auxv = find_auxv(envp);
	uint32_t n = 0;

	do {
		h->auxv[2 * n] = auxv[2 * n];
		h->auxv[2 * n + 1] = auxv[2 * n + 1];
	} while (auxv[2 * n++] != AT_END && n < UFT_HELLO_AUXV);
	h->nauxv = n;
}

static uint64_t monotonic_ns(void)
{
	struct __kernel_timespec ts = { 0 };

	sys_clock_gettime(1 /* CLOCK_MONOTONIC */, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/*
 * Reads both clocks at one instant: of a few readings it takes the narrowest, because a thread that loses its CPU
 * between the two clocks is late by milliseconds.
 */
static void read_clocks(uint64_t *clock, uint64_t *ns)
{
	uint64_t narrow = UINT64_MAX;

	for (int i = 0; i < CLOCK_TRIES; i++) {
		uint64_t before = arch_clock(), at = monotonic_ns(), width = arch_clock() - before;

		if (width < narrow) {
			narrow = width;
			*clock = before + width / 2;
			*ns = at;
		}
	}
}

/* Ticks per second of a clock that does not tell its rate. */
static uint64_t measure_hz(uint64_t clock, uint64_t ns)
{
	struct __kernel_timespec nap = { .tv_nsec = 50000000 };
	uint64_t then, then_ns;

	sys_call3(__NR_nanosleep, &nap, 0, 0);
	read_clocks(&then, &then_ns);
	return (then - clock) * 1000000000 / (then_ns - ns);
}

static int say_hello(char **envp)
{
	struct uft_hello *h =
		(struct uft_hello *)((uint8_t *)uft_rt.slice + uft_rt.arena->cmd_offset + UFT_CMD_PAYLOAD);
	uint64_t args[4] = { 0 };

	fill_hello(h, envp);
	if (uft_rt.is_emulated) {	/* else the session has the same clock */
		read_clocks(&args[0], &args[1]);
		args[2] = arch_clock_hz();
		if (!args[2])
			args[2] = measure_hz(args[0], args[1]);
	}
	args[3] = (uint64_t)&uft_boot;
	return agent_request(UFT_REQ_HELLO, args, 4, 1);
}

/* If children are not followed, only the program that the session itself has started is traced. */
static int is_wanted(void)
{
	return (uft_rt.arena->children & UFT_CHILDREN_FOLLOW) ||
	       (uint32_t)sys_call3(__NR_getppid, 0, 0, 0) == uft_rt.arena->session_pid;
}

static int come_up(int is_thread)
{
	int ret;

	uft_boot.blob_at = (uint64_t)__ehdr_start & ~(uint64_t)(UFT_PAGE - 1);
	uft_boot.blob_bytes = ((uint64_t)_end - uft_boot.blob_at + UFT_PAGE - 1) & ~(uint64_t)(UFT_PAGE - 1);
	ret = boot_finish();
	return ret ? ret : is_thread ? agent_start_thread() : agent_start();
}

/* Reports a failure to the session if the session's file is mapped, because the session waits. */
static int start(const char *value, char *how, char **envp)
{
	int ret = map_session(value, how);

	if (ret || !is_wanted())
		return ret ? ret : -EPERM;
	uft_rt.is_emulated = *how == '!';
	ret = trace_claim_spare();
	if (ret)
		return ret;
	ret = check_pages(envp);
	if (!ret)
		ret = come_up(*how != '?');
	if (ret)
		uft_store_release(&uft_rt.mail->start_error, ret);
	return ret;
}

/*
 * Gives the program the environment as it was (trace/hooks/exec_preload.c). The kernel's auxiliary vector follows the
 * environment at once, for programs that look for it there: so an entry without meaning comes before it, in place of
 * two variables.
 */
static void take_back(char **envp, const char *arena)
{
	uint64_t *last = (uint64_t *)envp;

	while (last[0] && last[1])
		last++;
	if ((const char *)last[0] + sizeof("UFT_ARENA=") - 1 != arena || last == (uint64_t *)envp)
		return;
	last[-1] = 0;
	last[0] = AT_IGNORE;
	last[1] = 0;
}

static void init(int argc, char **argv, char **envp)
{
	char *arena = find_variable(envp, "UFT_ARENA="), *preload = find_variable(envp, "LD_PRELOAD=");
	char how = 0;

	(void)argc;
	(void)argv;
	if (arena && !start(arena, &how, envp))
		say_hello(envp);
	if (how == '?' || how == ';') {
		take_back(envp, arena);
	} else if (how == '!') {
		*arena = 0;
		if (preload)
			*preload = 0;
	}
}

/* The loader calls it: by DT_INIT, or by the table. */
__attribute__((visibility("default"))) void uft_preload_init(int argc, char **argv, char **envp);
void uft_preload_init(int argc, char **argv, char **envp)
{
	init(argc, argv, envp);
}

#if !ARCH_HAS_INIT
static void (*const in_array)(int, char **, char **) __attribute__((section(".init_array"), used)) = init;
#endif

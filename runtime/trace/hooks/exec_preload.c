/* SPDX-License-Identifier: MIT */
/*
 * exec_preload.c - the environment that brings the runtime into a program, for tasks that no session can seize
 *
 * A task has one ptracer. If that is not the session (trace-cmd record --proc-map, gdb, strace), the session cannot
 * stop the new image to put the runtime into it, so the program's loader does it: LD_PRELOAD and UFT_ARENA follow all
 * other variables, because the last LD_PRELOAD counts, and the new runtime removes both again (agent/preload.c).
 *
 * Programs of a preloaded one (--preload) get it in the same way, but none behind a seccomp filter that would kill them for
 * the start of the runtime: then this is not called (may_follow_exec() in hook.c).
 *
 * The words and texts lie in memory of the calling process until the exec succeeds. A vfork child's memory is its
 * parent's, so each thread keeps its memory for its next exec; a thread pointer has one caller at a time, because a
 * vfork suspends its maker. If the exec fails, the register gets its old value back: inline assembly may rely on that.
 *
 * The other tracer sees each of our system calls, so they are few: the environment is read in pieces.
 */
#include "runtime/base/mem.h"
#include "runtime/trace/trace.h"
#include "runtime/trace/hooks/hooks.h"

#define NWORDS_MAX	(1u << 20)
#define PRELOAD_MAX	65536u		/* of the program's own LD_PRELOAD, at most */
#define PIECE		32u		/* variables read at once */
#define ENVP		2		/* register that has the environment: of execve, */
#define ENVP_AT		3		/* of execveat */

static const char preload_name[] = "LD_PRELOAD=", arena_name[] = "UFT_ARENA=";
#define NAME_BYTES	(sizeof(preload_name) - 1)

/* One thread's memory, followed by words and texts. Blocks are never removed. */
struct block {
	struct block *next;
	uint64_t owner;		/* thread pointer; 0: none */
	uint64_t bytes;
	uint64_t was;		/* the environment that it replaces */
};

static struct block *blocks;

static struct block *find_block(uint64_t owner)
{
	struct block *b = uft_load_acquire(&blocks);

	while (b && uft_load(&b->owner) != owner)
		b = b->next;
	return b;
}

/* Takes the caller's block, of @bytes or more. NULL: no memory. */
static struct block *take_block(size_t bytes)
{
	const uint64_t owner = arch_thread_pointer();
	struct block *b = find_block(owner);

	if (b && b->bytes >= bytes)
		return b;
	if (b)
		uft_store(&b->owner, 0);	/* another thread may need less room */
	for (b = uft_load_acquire(&blocks); b; b = b->next)
		if (b->bytes >= bytes && uft_cas(&b->owner, (uint64_t)0, owner))
			return b;
	bytes = (bytes + UFT_PAGE - 1) & -(size_t)UFT_PAGE;
	b = plat_map(bytes);
	if (!b)
		return NULL;
	b->owner = owner;
	b->bytes = bytes;
	do
		b->next = uft_load_acquire(&blocks);
	while (!uft_cas(&blocks, b->next, b));
	return b;
}

/* Reads a piece of @from, at most to the end of its page. Returns the number of words; 0: it cannot be read. */
static uint32_t read_words(uint64_t from, uint64_t *to)
{
	uint32_t n = (uint32_t)((UFT_PAGE - from % UFT_PAGE) / sizeof(*to));

	n = n > PIECE ? PIECE : n ? n : 1;
	return plat_peek((const void *)from, to, n * (uint32_t)sizeof(*to)) ? 0 : n;
}

/* Reads the first bytes of each of @n variables, with zeros where memory ends. */
static void read_names(const uint64_t *variable, uint32_t n, char (*name)[NAME_BYTES])
{
	struct plat_range from[PIECE];

	for (uint32_t i = 0; i < n; i++)
		from[i] = (struct plat_range){ variable[i], NAME_BYTES };
	if (plat_peek_ranges(from, n, name) == (long)(n * NAME_BYTES))
		return;
	memset(name, 0, n * NAME_BYTES);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0;
		     k < NAME_BYTES && !plat_peek((const void *)(variable[i] + k), &name[i][k], 1) && name[i][k]; k++)
			;
}

/*
 * Counts the variables of @envp into *@count; *@preload: the value of the last LD_PRELOAD, 0: none. 0; -EFAULT: the
 * exec will fail; -EEXIST: the program itself brings the new one into a session.
 */
static int read_environment(uint64_t envp, uint64_t *count, uint64_t *preload)
{
	uint64_t variable[PIECE];
	char name[PIECE][NAME_BYTES];

	*count = *preload = 0;
	while (envp && *count < NWORDS_MAX) {
		uint32_t got = read_words(envp + *count * sizeof(*variable), variable), n = 0;

		while (n < got && variable[n])
			n++;
		read_names(variable, n, name);
		for (uint32_t i = 0; i < n; i++) {
			if (!memcmp(name[i], arena_name, sizeof(arena_name) - 1))
				return -EEXIST;
			if (!memcmp(name[i], preload_name, NAME_BYTES))
				*preload = variable[i] + NAME_BYTES;
		}
		*count += n;
		if (!got)
			return -EFAULT;
		if (n < got)
			return 0;
	}
	return envp ? -E2BIG : 0;
}

/* Copies the text at @from, at most @room bytes, and returns its length; @room: too long, or it cannot be read. */
static size_t read_text(uint64_t from, char *to, size_t room)
{
	size_t n = 0;

	while (n < room) {
		size_t piece = UFT_PAGE - (from + n) % UFT_PAGE;

		piece = piece < room - n ? piece : room - n;
		if (plat_peek((const void *)(from + n), to + n, (uint32_t)piece))
			return room;
		for (size_t end = n + piece; n < end; n++)
			if (!to[n])
				return n;
	}
	return room;
}

void exec_preload(uint64_t *envp)
{
	const char *own = uft_rt.arena->preload;
	const size_t own_bytes = mem_strlen(own);
	uint64_t n, preload, words, *to;
	struct block *b;
	char *text;

	if (read_environment(*envp, &n, &preload))
		return;
	words = (n + 3) * sizeof(*to);
	b = take_block(sizeof(*b) + words + own_bytes + 2 + (preload ? PRELOAD_MAX : 0));
	if (!b)
		return;
	to = (uint64_t *)(b + 1);
	text = (char *)to + words;
	if (n && plat_peek((const void *)*envp, to, (uint32_t)(n * sizeof(*to))))
		return;
	memcpy(text, own, own_bytes + 1);
	if (preload) {
		text[own_bytes] = ':';
		if (read_text(preload, text + own_bytes + 1, PRELOAD_MAX) == PRELOAD_MAX)
			return;
	}
	to[n] = (uint64_t)text;
	to[n + 1] = (uint64_t)uft_rt.arena->start;
	to[n + 2] = 0;
	b->was = *envp;
	*envp = (uint64_t)to;
}

void exec_preload_failed(uint64_t *regs)
{
	const struct block *b = find_block(arch_thread_pointer());

	for (int i = ENVP; b && i <= ENVP_AT; i++)
		if (regs[i] == (uint64_t)(b + 1))
			regs[i] = b->was;
}

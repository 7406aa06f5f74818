// SPDX-License-Identifier: MIT
/*
 * hooks.c - find the places in unprepared code at which the runtime must be called
 *
 * System calls that make or replace processes; mlockall, which would make every page of our mappings; those of
 * limits, as the address space is not the program's alone; prctl and seccomp, by which a program forbids itself
 * system calls or the clock: `mov $nr,%eax; syscall` in any object's text, of limits also with `xor %edi,%edi`
 * between them. Seven bytes that are never there by chance, as are those at the end of glibc's syscall(), which is
 * given the number: `mov 8(%rsp),%r9; syscall`. With one exception: after a REX byte the mov is
 * another one (`mov $57,%r8d`), so such a hit counts only when decoding its function from the start arrives
 * at it. A jump to the syscall instruction itself does no harm: it stays in place. Unwinder entries: by
 * symbol, in libgcc_s and in programs that contain it; in stripped ones by what their unwind tables say,
 * which finds all that land in handlers (_Unwind_Backtrace, which does not, then sees stubs). The loader's
 * breakpoint function, or on other architectures its calls, from which a session learns of libraries. There only forks
 * are hooked of all system calls (fork_calls.c).
 *
 * The hooks found in an object are remembered for its life as an index of link-time addresses: programs start
 * by the thousand with the same libc. Any thread may search ahead (symbol/prefetch.c); a thread that needs a result
 * waits for the thread that is searching for it.
 */
#include "control/plan/fork_calls.h"
#include "control/plan/plan.h"
#include "control/relocate/plan.h"
#include "runtime/arch/arm64/encode.h"
#include "runtime/arch/riscv64/encode.h"
#include "runtime/arch/x86_64/encode.h"
#include "symbol/array.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HOOKS	256
#define MAX_LANDERS	16
#define TEXT_MAX	(64ull << 20)	/* larger text is searched only where a libc is inside */
#define CHUNK		(256u << 10)
#define OVERLAP		10u		/* of chunks: a byte, mov, xor, syscall */
#define LOADER_MAX	(16u << 20)	/* of text; glibc's has 200 KiB */

static const uint32_t syscalls[] = { 56 /* clone */, 57 /* fork */, 58 /* vfork */, 59 /* execve */, 97 /* getrlimit */,
				     151 /* mlockall */, 157 /* prctl */, 160 /* setrlimit */, 302 /* prlimit64 */,
				     317 /* seccomp */,
				     322 /* execveat */, 435 /* clone3 */ };

#define FIND_FDE	"_Unwind_Find_FDE"	/* is asked about each pc */
static const char *const unwinders[] = {
	"_Unwind_RaiseException", /* GUARD(hook_raise_exception) */
	"_Unwind_Resume", "_Unwind_Resume_or_Rethrow",
	"_Unwind_ForcedUnwind", /* GUARD(hook_forced_unwind) */
	"_Unwind_Backtrace", /* GUARD(hook_backtrace) */
	FIND_FDE, "unw_backtrace",
};
/* The two libunwinds: where a walk begins, whichever entry makes it. */
static const char *const beginnings[] = { "unw_getcontext", "_Ux86_64_getcontext", "_Uaarch64_getcontext",
	"_Uriscv_getcontext" };

/* The places found in an object, by link-time address; kept for ever, as objects are. */
struct found {
	struct found *next;
	struct uft_object *obj;
	struct uft_hook *hook;
	uint32_t n;
	int is_ready;			/* the rest is filled in, */
	int error;			/* or -ENOMEM: who asks next searches again */
};
static struct found *cache;
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;	/* the list, is_ready, error */
static pthread_cond_t cache_ready = PTHREAD_COND_INITIALIZER;

static void add(struct found *f, const struct uft_hook *h)
{
	if (f->n == MAX_HOOKS)
		return;
	if (array_resize(f->hook, f->n + 1)) {
		f->error = -ENOMEM;
		return;
	}
	f->hook[f->n++] = *h;
}

/* Decodes the function that contains @addr from its start. */
static int is_instruction(struct found *f, uint64_t addr)
{
	struct uft_object *obj = f->obj;
	const struct uft_func *fn;
	uint8_t *code;
	size_t len;
	int yes, ret = uft_object_names(obj, NULL);

	if (ret == -ENOMEM)
		f->error = ret;
	if (ret)
		return 0;
	fn = uft_object_func(obj, addr);
	if (!fn || addr < fn->addr || addr - fn->addr > 1 << 20)
		return 0;
	len = addr - fn->addr + 16;
	code = malloc(len);
	if (!code) {
		f->error = -ENOMEM;
		return 0;
	}
	len = uft_object_read(obj, fn->addr, code, len);
	yes = addr - fn->addr < len && plan_is_boundary(code, len, addr - fn->addr);
	free(code);
	return yes;
}

/* Glibc's functions of limits clear a register in between. */
static int is_limit(uint32_t nr)
{
	return nr == 97 || nr == 160 || nr == 302;
}

/* @p: a `syscall` at @addr, behind @n bytes of text, five at least. */
static void check_syscall(struct found *f, uint64_t addr, const uint8_t *p, size_t n)
{
	struct uft_hook h = { .addr = addr - 5, .kind = UFT_HOOK_SYSCALL, .len = 5 };
	int prefix;

	if (uft_insn_is_last_argument(p - 5)) { /* GUARD(check_syscall_uft_insn_is_last_argument) */
		h.nr = UFT_HOOK_ANY;
		uft_object_read(f->obj, h.addr, h.bytes, sizeof(h.bytes));
		add(f, &h);
	}
	if (p[-5] != 0xb8 && n >= 7 && uft_insn_call_of_number(p - 7) == 7) {
		h.len = 7;
		h.addr = addr - 7;
	}
	if (!uft_insn_is_mov_eax(p - h.len, &h.nr) || (h.len == 7 && !is_limit(h.nr)))
		return;
	prefix = n > h.len ? p[-(int)h.len - 1] : 0;
	for (size_t i = 0; i < sizeof(syscalls) / sizeof(syscalls[0]); i++) {
		if (syscalls[i] != h.nr)
			continue;
		if ((prefix & 0xf0) == 0x40 && !is_instruction(f, h.addr))
			return;
		uft_object_read(f->obj, h.addr, h.bytes, sizeof(h.bytes));
		add(f, &h);
		return;
	}
}

/* Next `0f 05` at or after @i; eight bytes at a time, a zero byte of x|y marks a hit. */
static size_t next_syscall(const uint8_t *p, size_t i, size_t n)
{
	const uint64_t low = 0x0101010101010101ull, high = low << 7;

	for (; i + 9 <= n; i += 8) {
		uint64_t x, y;

		memcpy(&x, p + i, 8);
		memcpy(&y, p + i + 1, 8);
		x = (x ^ low * 0x0f) | (y ^ low * 0x05);
		if ((x - low) & ~x & high)
			break;
	}
	for (; i + 2 <= n; i++)
		if (p[i] == 0x0f && p[i + 1] == 0x05)
			return i;
	return n;
}

static void find_syscalls(struct found *f)
{
	static const char *const makers[] = { "execve", "fork", "clone" };
	uint8_t *buf;

	buf = malloc(CHUNK + OVERLAP);
	if (!buf)
		f->error = -ENOMEM;
	for (size_t t = 0; buf && t < f->obj->ntext; t++) {
		const struct uft_text *text = &f->obj->text[t];

		/* Reading hundreds of megabytes at start is worth it only where a libc is inside. */
		if (text->end - text->addr > TEXT_MAX && !f->obj->is_static) {
			size_t m = 0;

			while (m < 3 && !uft_object_symbol(f->obj, makers[m], NULL))
				m++;
			if (m == 3)
				continue;
		}
		for (uint64_t at = text->addr; at < text->end;) {
			size_t want = text->end - at < CHUNK + OVERLAP ? text->end - at : CHUNK + OVERLAP;
			size_t n = uft_object_read(f->obj, at, buf, want);

			for (size_t i = next_syscall(buf, 0, n); i < n; i = next_syscall(buf, i + 1, n))
				if (i >= 5 && (i < CHUNK + OVERLAP - 2 || at + n >= text->end) &&
				    (i >= OVERLAP - 2 || at == text->addr))
					check_syscall(f, at + i, buf + i, i);
			if (n < want || at + n >= text->end)
				break;
			at += CHUNK;
		}
	}
	free(buf);
}

/* How many bytes a hook there moves, or -errno; *skip: of a landing pad, which an indirect call must find. */
static int plan_unwinder(const struct uft_object *obj, const uint8_t *code, size_t n, size_t *skip)
{
	if (!hooks_are_known(obj))
		return plan_words(obj->machine, code, n, skip);
	*skip = n >= 4 && !memcmp(code, "\xf3\x0f\x1e\xfa", 4) ? 4 : 0;
	return n > *skip ? plan_prologue(code + *skip, n - *skip, 5) : -EINVAL;
}

/* Returns 0, or why it cannot be hooked: the place is added nevertheless, unless @is_spare. */
static int add_unwinder(struct found *f, uint64_t addr, uint64_t size, uint32_t which, int is_spare)
{
	struct uft_hook h = { .kind = UFT_HOOK_UNWIND, .nr = which };
	uint8_t code[2048];
	size_t n, skip;
	int len;

	n = uft_object_read(f->obj, addr, code, size && size < sizeof(code) ? size : sizeof(code));
	len = plan_unwinder(f->obj, code, n, &skip);
	h.addr = addr + skip;
	h.len = len > 0 ? (uint32_t)len : 0;
	h.result = len > 0 ? 0 : len;
	uft_object_read(f->obj, h.addr, h.bytes, sizeof(h.bytes));
	if (!h.result || !is_spare)
		add(f, &h);
	return h.result;
}

static void find_unwinders(struct found *f)
{
	struct uft_range lander[MAX_LANDERS];
	int sees_walks = 0;
	size_t n;

	/* They come together, in one object file of libgcc; looking for a symbol reads the whole table. */
	if (uft_object_symbol(f->obj, unwinders[0], NULL)) {
		/* A sanitizer's wrapper: what takes others of them from elsewhere has none itself. */
		if (uft_object_imports(f->obj, "_Unwind_Resume") || uft_object_imports(f->obj, "_Unwind_GetIP"))
			return;
		for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
			uint64_t size, addr = uft_object_symbol(f->obj, beginnings[i], &size);

			sees_walks |= addr && !add_unwinder(f, addr, size, UFT_UNWIND_BEGIN, 0);
		}
		for (size_t i = 0; i < sizeof(unwinders) / sizeof(unwinders[0]); i++) {
			uint64_t size, addr = uft_object_symbol(f->obj, unwinders[i], &size);
			int is_fde = !strcmp(unwinders[i], FIND_FDE);

			if (addr && (!is_fde || hooks_are_known(f->obj)))	/* frames.c is x86-64's */
				add_unwinder(f, addr, size, is_fde ? UFT_UNWIND_FDE : UFT_UNWIND_BEGIN, sees_walks);
		}
		return;
	}
	n = uft_object_landers(f->obj, lander, MAX_LANDERS);
	for (size_t i = 0; i < n; i++)
		add_unwinder(f, lander[i].addr, lander[i].size, UFT_UNWIND_BEGIN, 0);
}

static void find_forks(struct found *f)
{
	struct uft_hook h[FORK_CALLS_MAX];
	unsigned n = fork_calls_find(f->obj, h);

	for (unsigned i = 0; i < n; i++)
		add(f, &h[i]);
}

/* System calls of all kinds are looked for in x86-64 code, and only that runtime hooks them. */
int hooks_are_known(const struct uft_object *obj)
{
	return obj->machine == EM_X86_64;
}

/* The cache entry of @obj; *is_new: the caller fills it in, anew if memory was short before. NULL: no memory. */
static struct found *entry_of(struct uft_object *obj, int *is_new)
{
	struct found *f;

	pthread_mutex_lock(&cache_lock);
	for (f = cache; f && f->obj != obj;)
		f = f->next;
	while (f && !f->is_ready)
		pthread_cond_wait(&cache_ready, &cache_lock);
	*is_new = !f || f->error;
	if (f && f->error) {
		f->n = 0;
		f->error = 0;
		f->is_ready = 0;
	} else if (!f && (f = calloc(1, sizeof(*f)))) {
		f->obj = uft_object_get(obj);
		f->next = cache;
		cache = f;
	}
	pthread_mutex_unlock(&cache_lock);
	return f;
}

/* The hooks of @obj, which no longer change. NULL: no memory for some of them. */
static const struct found *look_up(struct uft_object *obj)
{
	int is_new, ret;
	struct found *f = entry_of(obj, &is_new);

	if (!f || !is_new)
		return f;
	if (hooks_are_known(obj))
		find_syscalls(f);
	else
		find_forks(f);
	find_unwinders(f);
	pthread_mutex_lock(&cache_lock);
	ret = f->error; /* GUARD(hooks_memory, 0) */
	f->is_ready = 1;
	pthread_cond_broadcast(&cache_ready);
	pthread_mutex_unlock(&cache_lock);
	return ret ? NULL : f;
}

void uft_session_look_ahead(struct uft_object *obj)
{
	look_up(obj);
}

/* ---- The loader ----------------------------------------------------------------------------- */

static int append(struct space_obj *o, const struct uft_hook *h)
{
	if (array_resize(o->hook, o->nhook + 1))
		return -ENOMEM;
	o->hook[o->nhook++] = *h;
	return 0;
}

/* Is the word at @at a call of @target? */
static int is_call_of(const struct uft_object *obj, uint32_t word, uint64_t at, uint64_t target)
{
	if (obj->machine == EM_AARCH64)
		return a64_is_bl(word) && a64_branch_target(word, at) == target;
	return rv_is_jal(word, RV_RA) && rv_jal_target(word, at) == target;
}

/*
 * Where instructions are words the function at @rbrk has no room for a jump, so its calls are hooked
 * (runtime/patch/words/hook.c). All 32 bits must be those of a call from there: nothing else looks like it by
 * chance.
 */
static int add_calls(struct space_obj *o, const struct uft_mapped *m, uint64_t rbrk)
{
	const unsigned step = m->obj->machine == EM_AARCH64 ? 4 : 2;
	int ret = 0;

	for (size_t t = 0; t < m->obj->ntext && !ret; t++) {
		const struct uft_text *text = &m->obj->text[t];
		size_t n = text->end - text->addr;
		uint8_t *code = n <= LOADER_MAX ? malloc(n) : NULL;

		if (!code)
			return n <= LOADER_MAX ? -ENOMEM : 0;
		n = uft_object_read(m->obj, text->addr, code, n);
		for (size_t i = 0; i + 4 <= n && !ret; i += step) {
			struct uft_hook h = { .addr = text->addr + i + m->bias, .kind = UFT_HOOK_RBRK };
			uint32_t word;

			memcpy(&word, code + i, sizeof(word));
			memcpy(h.bytes, &word, sizeof(word));
			if (is_call_of(m->obj, word, text->addr + i, rbrk) && o->nhook < MAX_HOOKS)
				ret = append(o, &h);
		}
		free(code);
	}
	return ret;
}

int hooks_add_loader(struct space_obj *o, const struct uft_mapped *m, uint64_t rbrk)
{
	struct uft_hook h = { .addr = rbrk + m->bias, .kind = UFT_HOOK_RBRK };

	if (!hooks_are_known(m->obj))
		return add_calls(o, m, rbrk);
	uft_object_read(m->obj, rbrk, h.bytes, sizeof(h.bytes));
	return append(o, &h);
}

int hooks_find(struct space_obj *o, const struct uft_mapped *m)
{
	const struct found *f;

	if (o->has_hooks)
		return 0;
	f = look_up(m->obj);
	if (!f)
		return -ENOMEM;
	if (array_resize(o->hook, o->nhook + f->n))
		return -ENOMEM;
	for (uint32_t i = 0; i < f->n; i++) {
		o->hook[o->nhook] = f->hook[i];
		o->hook[o->nhook++].addr += m->bias;
	}
	o->has_hooks = 1;
	return 0;
}

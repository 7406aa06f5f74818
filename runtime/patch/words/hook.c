/* SPDX-License-Identifier: MIT */
/*
 * hook.c - hooks: places in unprepared code that call the runtime, where instructions are words
 *
 * The loader's calls. They announce a library.
 *
 * The loader calls an empty function when its list of objects has changed (r_brk): before the constructors of a new
 * object, and when an object is gone. That function is one `ret`, on riscv64 two bytes with another function behind
 * them: no room for a jump. So the calls of it are changed instead. The session lists them, and each becomes the same
 * call of our handler, which is in this library and returns to the loader. This needs no stub and no memory near the
 * loader; a handler out of the instruction's reach is refused (-ERANGE).
 *
 *	original	bl _dl_debug_state	jal ra, _dl_debug_state
 *	armed		bl uft_asm_hook_rbrk	jal ra, uft_asm_hook_rbrk
 *
 * Concurrency. If a call changes into another call by one aligned store, CPUs may see that at any time. A call that
 * lies in two words is changed only while the program waits in its hello, when it has one thread; else it stays as it
 * is, -EBUSY. A call that stays armed does no harm: the library stays mapped, and without a session the handler makes
 * no request.
 *
 * Unwinders. The entry of a function that walks the stack becomes a jump to a stub in memory near it. The stub calls
 * the handler with every register as it was (hook.S) and goes on with the moved instructions, which must not depend on
 * their address (the session checks that):
 *
 *	original	sub sp, sp, #n ; ...		addi sp, sp, -n ; sd s0, n(sp) ; ...
 *	armed		b stub ; ...			auipc t6 ; jr t6, stub ; ...
 *	stub		the handler's address ; call it ; what stood there ; jump behind it
 *
 * This change is made only while no thread can be there: the object is fresh, or all tasks are stopped
 * (word_is_quiet()); else -EBUSY. It stays after a detach, because frames that return through the runtime stay, too,
 * and exceptions pass them. Stubs are never freed; when an object is gone, its stub serves the next one with the same
 * instructions at that place.
 *
 * Forks. The system call by which libc forks becomes a jump to a stub, which calls the handler with every register as
 * it was. The handler makes the call itself (agent/spare.c), or the stub does. On arm64 the jump is one word. On
 * riscv64 it takes two, so the instructions before the call move along (the session checks that they depend on
 * registers alone), and the jumps there and back use a register that the next instruction of the program writes without
 * reading it.
 *
 *	original	mov x8, #220 ; svc #0 ; ...		li a7, 220 ; ... ; add a4, tp, n ; ecall ; lui a5, n ; ...
 *	armed		mov x8, #220 ; b stub ; ...		li a7, 220 ; ... ; auipc a4 ; jr a4, stub ; lui a5, n ; ...
 *
 * The register may have any number: the handler lets other calls pass. A fork child has the same code. These hooks,
 * too, stay after a detach, and then let every call pass.
 *
 * Context: control. A fork child has its own copy of the lists, and of the code.
 */
#include <linux/errno.h>

#include "runtime/arch/arch.h"
#include "runtime/base/mem.h"
#include "runtime/patch/words/words.h"
#include "runtime/platform/platform.h"
#include "runtime/runtime.h"

#define MAX_CALLS	32u

struct call {
	uintptr_t at;
	uint32_t orig, ours;
};

static struct call calls[MAX_CALLS];
static uint32_t ncalls;		/* counts complete entries: a fork child finds all of an entry or none */

/* Does the program wait for the answer to its hello? Then no other thread runs. */
static int is_starting(void)
{
	const struct uft_mail *m = uft_rt.mail;

	for (unsigned i = 0; m && i < UFT_NREQUESTS; i++)
		if (uft_load_acquire(&m->req[i].state) == UFT_REQ_POSTED && m->req[i].kind == UFT_REQ_HELLO &&
		    m->req[i].slice == uft_rt.slice_index)
			return 1;
	return 0;
}

static uint32_t read_word(uintptr_t at)
{
	uint32_t word;

	memcpy(&word, (const void *)at, sizeof(word));
	return word;
}

static int write_word(uintptr_t at, uint32_t word)
{
	int ret;

	if (at & 3 && !is_starting())
		return -EBUSY;
	ret = word_open(PLAT_PAGE_DOWN(at), PLAT_PAGE_UP(at + sizeof(word)));
	if (ret)
		return ret;
	word_put(at, word);
	word_close();
	plat_sync_cores();
	return 0;
}

static int arm_call(const struct uft_hook *h)
{
	struct call c = { .at = h->addr };
	uint32_t i, now;

	memcpy(&c.orig, h->bytes, sizeof(c.orig));
	c.ours = arch_retarget(c.orig, c.at, (uintptr_t)uft_asm_hook_rbrk);
	if (c.at & (ARCH_INSN_ALIGN - 1) || !plat_is_readable((const void *)c.at) ||
	    !plat_is_readable((const void *)(c.at + 3)))
		return -EFAULT;
	now = read_word(c.at);
	if (!c.ours || now == c.ours)
		return c.ours ? 0 : -ERANGE;
	if (now != c.orig)
		return -EILSEQ;
	for (i = 0; i < ncalls && calls[i].at != c.at; i++)
		;
	if (i == MAX_CALLS)
		return -ENOSPC;
	calls[i] = c;
	if (i == ncalls)
		uft_store_release(&ncalls, i + 1);
	return write_word(c.at, c.ours);
}

/* ---- unwinders, forks ------------------------------------------------------------------------------------ */

#define STUB_BYTES	128u
#define MAX_STUBS	256u
_Static_assert(ARCH_HOOK_STUB + sizeof(((struct uft_hook *)0)->bytes) + ARCH_HOOK_MAX <= STUB_BYTES, "a stub");
_Static_assert(4 * ARCH_FORK_MAX <= STUB_BYTES && PLAT_PAGE % STUB_BYTES == 0, "a stub");

struct stub {
	uintptr_t addr, at;	/* of the hooked place; of the stub */
	uint32_t len, kind;
	uint8_t orig[16];
};

static struct stub stubs[MAX_STUBS];
static uint32_t nstubs;		/* counts complete entries */
static uintptr_t page;		/* the page of the last stubs; the next one is at page_used */
static uint32_t page_used = PLAT_PAGE;

/* The jump to the stub, from the entry or the system call. */
static unsigned jump_of(const struct stub *s, uint32_t *w)
{
	return s->kind == UFT_HOOK_SYSCALL ? arch_fork_jump(w, s->addr, s->orig, s->at) :
					     arch_hook_jump(w, s->addr, s->at + ARCH_HOOK_ENTRY);
}

static int write_words(uintptr_t at, const uint32_t *w, unsigned n)
{
	int ret = word_open(PLAT_PAGE_DOWN(at), PLAT_PAGE_UP(at + 4 * n));

	for (unsigned i = 0; !ret && i < n; i++)
		word_put(at + 4 * i, w[i]);
	if (!ret)
		word_close();
	return ret;
}

/* Takes room for a stub that @s can reach, and that can reach @s. */
static int place_stub(struct stub *s)
{
	uint32_t w[2];
	int ret;

	s->at = page + page_used;
	if (page_used < PLAT_PAGE && jump_of(s, w) && arch_hook_jump(w, s->at, s->addr))
		return 0;
	ret = plat_map_near(s->addr, s->addr + sizeof(s->orig), PLAT_PAGE, PLAT_READ | PLAT_EXEC, &s->at);
	if (ret)
		return ret;
	page = s->at;
	page_used = 0;
	return jump_of(s, w) ? 0 : -ERANGE;
}

/* Makes the stub of an entry; returns its words, 0: it cannot be made. */
static unsigned make_unwinder(const struct stub *s, uint32_t *w)
{
	uint8_t code[STUB_BYTES] = { 0 };
	uint32_t jump[2];
	uintptr_t back;
	unsigned n;

	arch_make_hook(w, s->at, (uint64_t)uft_asm_hook_unwind);
	memcpy(code, w, ARCH_HOOK_STUB);
	memcpy(code + ARCH_HOOK_STUB, s->orig, s->len);
	back = s->at + ARCH_HOOK_STUB + s->len;
	n = arch_hook_jump(jump, back, s->addr + s->len);
	memcpy(code + ARCH_HOOK_STUB + s->len, jump, 4 * n);
	memcpy(w, code, sizeof(code));
	return n ? STUB_BYTES / 4 : 0;
}

static int make_stub(struct stub *s)
{
	uint32_t w[STUB_BYTES / 4];
	int ret = place_stub(s);
	unsigned n;

	if (ret)
		return ret;
	n = s->kind == UFT_HOOK_SYSCALL ? arch_make_fork(w, s->at, (uint64_t)uft_asm_hook_fork, s->addr, s->orig,
							 s->len) :
					  make_unwinder(s, w);
	if (!n)
		return -ERANGE;
	ret = write_words(s->at, w, n);
	if (!ret)
		page_used += STUB_BYTES;
	return ret;
}

static int is_readable(uintptr_t at, unsigned bytes)
{
	return plat_is_readable((const void *)at) && plat_is_readable((const void *)(at + bytes - 8));
}

/* The stub that the place leads to now, or that served the same instructions there before; NULL: none. */
static const struct stub *find_stub(const struct uft_hook *h, int *is_armed)
{
	uint32_t w[2];

	for (uint32_t i = nstubs; i-- > 0;) {
		if (stubs[i].addr != h->addr)
			continue;
		*is_armed = !memcmp((const void *)h->addr, w, 4 * jump_of(&stubs[i], w));
		if (*is_armed || (stubs[i].len == h->len && !memcmp(stubs[i].orig, h->bytes, h->len)))
			return &stubs[i];
	}
	return NULL;
}

/* Arms an unwinder's or a fork's hook: one word changes at any time, more words only while no thread can be there. */
static int arm_stub(const struct uft_hook *h)
{
	const int is_fork = h->kind == UFT_HOOK_SYSCALL;
	const struct stub *s;
	uint32_t w[2];
	int ret, is_armed = 0;
	unsigned n;

	if ((!is_fork && h->nr != UFT_UNWIND_BEGIN) || h->len < ARCH_HOOK_MAX ||
	    h->len > sizeof(h->bytes) - 4 * is_fork || h->len & (ARCH_INSN_ALIGN - 1))
		return -EOPNOTSUPP;
	if (h->addr & (ARCH_INSN_ALIGN - 1) || !is_readable(h->addr, sizeof(h->bytes)))
		return -EFAULT;
	s = find_stub(h, &is_armed);
	if (is_armed)
		return 0;
	if (memcmp((const void *)h->addr, h->bytes, h->len))
		return -EILSEQ;
	if (!word_is_quiet() && (!is_fork || h->len > 4))
		return -EBUSY;
	if (!s) {
		struct stub *fresh = &stubs[nstubs];

		if (nstubs == MAX_STUBS)
			return -ENOSPC;
		*fresh = (struct stub){ .addr = h->addr, .len = h->len, .kind = h->kind };
		memcpy(fresh->orig, h->bytes, sizeof(fresh->orig));
		ret = make_stub(fresh);
		if (ret)
			return ret;
		uft_store_release(&nstubs, nstubs + 1);
		plat_sync_cores();
		s = fresh;
	}
	n = jump_of(s, w);
	ret = write_words(s->addr, w, n);
	if (!ret)
		plat_sync_cores();
	return ret;
}

int patch_hooks(struct uft_hook *h, uint32_t n)
{
	word_begin();
	for (uint32_t i = 0; i < n; i++)
		h[i].result = h[i].kind == UFT_HOOK_RBRK ? arm_call(&h[i]) : arm_stub(&h[i]);
	return 0;
}

void word_unhook(void)
{
	word_begin();
	for (uint32_t i = 0; i < ncalls; i++)
		if (plat_is_readable((const void *)calls[i].at) && read_word(calls[i].at) == calls[i].ours)
			write_word(calls[i].at, calls[i].orig);
}

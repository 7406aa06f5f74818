/* SPDX-License-Identifier: MIT */
/*
 * hook.c - hooks: places in unprepared code that call the runtime
 *
 * A hook is five bytes of code that become a jump to a stub of ours (arch.h says what each kind must do):
 *
 *   SYSCALL	mov $nr,%eax; lea -128(%rsp),%rsp; call *pre; lea 128(%rsp),%rsp; mov $nr,%eax; jmp back
 *		Back to the `syscall` instruction, so nothing of ours is on the stack when a vfork child runs there.
 *		mlockall: without the second mov, so that pre may choose another call.
 *		UFT_HOOK_ANY, whose number is known when it runs, fork, clone, clone3 and the calls of limits: the
 *		moved instruction; clc; the same by *any; jc 1f; jmp back; 1: jmp behind the `syscall`. Flags are
 *		dead there: a system call has none for the kernel, and an asm statement leaves none. A fork that
 *		Back to the `syscall` instruction, so the stack has nothing of the runtime when a vfork child runs
 *		there.
 *		mlockall: the second mov is left out, so pre may choose another call.
 *   UNWIND	call *unwind; the moved instructions; jmp back	(or *find_fde, which comes back only if the pc
 *								is none of ours)
 *   RBRK	call *rbrk; ret		over the `ret` of r_brk and the padding behind it
 *
 * The pointers are cells of the area that holds the stub. Hooks are few; areas are shared by all that reach them.
 *
 * Arming. The bytes may hold several instructions (UNWIND) or one that may not be skipped (SYSCALL), so no
 * stand-in: one store where they lie in a word or a 16-byte block. Otherwise, and for several instructions always,
 * only while no thread can be inside: no thread runs, or a thread waits in r_brk for the session (then the session
 * hooks the new object, which no thread has executed yet). Else the hook is refused with -EBUSY.
 * Behind RBRK's `ret` everything is dead: the tail first, then the first byte.
 *
 * The hooks of an object change together (hooks_write()), and their stubs are written through one window. If a hook
 * lies beside another one that is not written yet, that one is written first.
 *
 * Disarming happens while threads run: one store if possible. Else the jump stays and its area's cells point to a
 * `ret`: the code does what it did, but its bytes differ. When the hook is armed again, the cells point to the handlers
 * again.
 *
 * Context: control. Stubs and areas stay until a detach.
 */
#include "runtime/arch/x86_64/frames.h"
#include "runtime/base/mem.h"
#include "runtime/patch/bytes/bytes.h"

#define AREA_PAGES	4		/* of stubs */
#define SLOT_BYTES	UFT_HOOK_STUB_BYTES
_Static_assert(UFT_FRAME_HOOK_ADDR == UFT_HOOK_STUB_ADDR, "one place for who unwinds inside and outside");
#define AREA_SLOTS	(AREA_PAGES * PLAT_PAGE / SLOT_BYTES)
#define AREA_REACH	0x7ff00000ul
#define BATCH_HOOKS	64u

/* UNWIND + enum uft_unwind_hook */
enum cell { CELL_PRE, CELL_POST, CELL_UNWIND, CELL_FDE, CELL_RBRK, CELL_ANY, NCELLS };

struct hook_area {
	uintptr_t base;		/* cells (rw-), then stubs (r-x); stub 0 is a `ret` */
	uint32_t used;
	struct hook_area *next;
};

enum hook_state { HOOK_ORIGINAL, HOOK_ARMED, HOOK_PASSIVE /* the jump stays, the cells lead to a ret */ };

struct hook {
	uintptr_t addr;		/* of the five bytes (behind RBRK's endbr64) */
	uint32_t kind, nr, len;
	uint8_t state;		/* enum hook_state */
	uint8_t is_gone, is_stuck;
	uint8_t orig[16];
	uintptr_t stub;
	struct hook *next;
};

/* Newest first; never freed. A fork child has its own copy. */
static struct hook_area *areas;
static struct hook *hooks;

/* ---- areas --------------------------------------------------------------------------------------- */

static uint64_t *area_cell(const struct hook_area *a, unsigned c)
{
	return (uint64_t *)a->base + c;
}

static void area_point(const struct hook_area *a, int is_active)
{
	const char *to[NCELLS] = { uft_asm_hook_syscall_pre, uft_asm_hook_syscall_post, uft_asm_hook_unwind,
				   uft_asm_hook_find_fde, uft_asm_hook_rbrk, uft_asm_hook_syscall_any };
	unsigned c;

	for (c = 0; c < NCELLS; c++)
		uft_store_release(area_cell(a, c), is_active ? (uint64_t)to[c] : a->base + PLAT_PAGE);
}

/*
 * The window over all stubs of an area, open while hooks are learned: stub_write() opens it, stubs_close() closes it
 * before any code leads there.
 */
static struct {
	const struct hook_area *area;	/* NULL: no window is open */
	struct plat_window w;
} stubs;

static void stubs_close(void)
{
	if (stubs.area)
		plat_text_close(&stubs.w);
	stubs.area = NULL;
}

static int stubs_open(const struct hook_area *a)
{
	const uintptr_t from = a->base + PLAT_PAGE;
	int ret;

	if (stubs.area == a)
		return 0;
	stubs_close();
	ret = plat_text_open(&stubs.w, from, from + AREA_PAGES * PLAT_PAGE, PLAT_READ | PLAT_EXEC,
			     (int)uft_rt.no_mprotect);
	if (!ret)
		stubs.area = a;
	return ret;
}

static int stub_write(const struct hook_area *a, uintptr_t at, const uint8_t *bytes, unsigned n)
{
	struct tramp_code c = { .at = at };
	unsigned done;
	int ret = stubs_open(a);

	for (done = 0; done < n && !ret; done += c.n, c.at += c.n) {
		c.n = (uint8_t)(n - done < sizeof(c.bytes) ? n - done : sizeof(c.bytes));
		memcpy(c.bytes, bytes + done, c.n);
		ret = batch_write_tramp(&c, &stubs.w);
	}
	return ret;
}

static struct hook_area *area_make(uintptr_t addr)
{
	static const uint8_t ret_insn[] = { UFT_OP_RET };
	struct hook_area *a = plat_alloc(sizeof(*a));
	size_t bytes = (1 + AREA_PAGES) * PLAT_PAGE;

	if (!a || plat_map_near(addr, addr + 16, bytes, PLAT_READ | PLAT_EXEC, &a->base))
		return NULL;
	if (plat_protect(a->base, PLAT_PAGE, PLAT_READ | PLAT_WRITE) ||
	    stub_write(a, a->base + PLAT_PAGE, ret_insn, sizeof(ret_insn))) {
		if (stubs.area == a)
			stubs_close();
		plat_unmap((void *)a->base, bytes);
		return NULL;
	}
	a->used = 1;
	area_point(a, 1);
	a->next = areas;
	uft_store_release(&areas, a);
	return a;
}

static struct hook_area *area_near(uintptr_t addr)
{
	struct hook_area *a;

	for (a = areas; a; a = a->next)
		if (a->used < AREA_SLOTS && (addr > a->base ? addr - a->base : a->base - addr) < AREA_REACH)
			return a;
	return area_make(addr);
}

/* ---- stubs --------------------------------------------------------------------------------------- */

#define NR_CLONE	56u
#define NR_FORK		57u
#define NR_EXECVE	59u
#define NR_EXECVEAT	322u
#define NR_MLOCKALL	151u
#define NR_CLONE3	435u
#define NR_GETRLIMIT	97u
#define NR_SETRLIMIT	160u
#define NR_PRLIMIT64	302u

static int is_exec(uint32_t nr)
{
	return nr == NR_EXECVE || nr == NR_EXECVEAT;
}

/* Is it *any that decides whether the stub or the handler makes the call? */
static int is_any(uint32_t nr)
{
	return nr == UFT_HOOK_ANY || nr == NR_FORK || nr == NR_CLONE || nr == NR_CLONE3 || nr == NR_GETRLIMIT ||
	       nr == NR_SETRLIMIT || nr == NR_PRLIMIT64;
}

/* Moves rsp below the red zone, calls *cell, moves rsp back. */
static size_t put_guarded_call(uint8_t *at, uintptr_t pc, const uint64_t *cell)
{
	size_t n = uft_insn_lea_rsp(at, -128 /* GUARD(hook_red_zone, 0) */);

	n += uft_insn_call_indirect(at + n, pc + n, (uint64_t)cell);
	return n + uft_insn_lea_rsp(at + n, 128 /* GUARD(hook_red_zone, 0) */);
}

static size_t put_any_stub(const struct hook *h, const struct hook_area *a, uint8_t *at)
{
	size_t n = h->len;

	memcpy(at, h->orig, n);
	n += uft_insn_clc(at + n); /* GUARD(hook_carry, at[n++] = 0xf9) */
	n += put_guarded_call(at + n, h->stub + n, area_cell(a, CELL_ANY));
	n += uft_insn_jc_short(at + n, UFT_LEN_JMP /* GUARD(hook_jc_distance, 0) */);
	n += uft_insn_jmp(at + n, h->stub + n, h->addr + h->len);
	return n + uft_insn_jmp(at + n, h->stub + n, h->addr + h->len + UFT_LEN_SYSCALL);
}

static size_t put_syscall_stub(const struct hook *h, const struct hook_area *a, uint8_t *at)
{
	uintptr_t back = h->addr + UFT_LEN_MOV_EAX;
	size_t n = uft_insn_mov_eax(at, h->nr);

	n += put_guarded_call(at + n, h->stub + n, area_cell(a, CELL_PRE));
	if (h->nr != NR_MLOCKALL)		/* the handler may have chosen another call */
		n += uft_insn_mov_eax(at + n, h->nr);
	if (is_exec(h->nr)) {	/* GUARD(hook_exec) */
		n += uft_insn_syscall(at + n);
		n += put_guarded_call(at + n, h->stub + n, area_cell(a, CELL_POST));
		back += UFT_LEN_SYSCALL;
	}
	return n + uft_insn_jmp(at + n, h->stub + n, back);
}

static size_t put_unwind_stub(const struct hook *h, const struct hook_area *a, uint8_t *at)
{
	size_t n = uft_insn_call_indirect(at, h->stub, (uint64_t)area_cell(a, CELL_UNWIND + h->nr));

	memcpy(at + n, h->orig, h->len);
	n += h->len;
	return n + uft_insn_jmp(at + n, h->stub + n, h->addr + h->len);
}

static int make_stub(struct hook *h)
{
	struct hook_area *a = area_near(h->addr);
	uint8_t code[SLOT_BYTES];
	size_t n;
	int ret;

	if (!a)
		return -ENOMEM;
	h->stub = a->base + PLAT_PAGE + a->used * SLOT_BYTES;
	if (h->kind == UFT_HOOK_SYSCALL) {
		n = is_any(h->nr) ? put_any_stub(h, a, code) : put_syscall_stub(h, a, code);
	} else if (h->kind == UFT_HOOK_UNWIND) {
		n = put_unwind_stub(h, a, code);
	} else {
		n = uft_insn_call_indirect(code, h->stub, (uint64_t)area_cell(a, CELL_RBRK));
		n += uft_insn_ret(code + n);
	}
	memset(code + n, UFT_OP_INT3, sizeof(code) - n);
	memcpy(code + UFT_FRAME_HOOK_ADDR, &h->addr, 8);
	ret = stub_write(a, h->stub, code, sizeof(code));
	if (!ret)
		a->used++;
	return ret;
}

/* ---- arming -------------------------------------------------------------------------------------- */

/* Are there at least @n bytes of padding at @p, behind a ret? */
static int has_padding(const uint8_t *p, unsigned n)
{
	unsigned i = 0;

	while (i < n) {
		size_t nop = uft_insn_nop_length(p + i, 16);

		if (p[i] == UFT_OP_INT3)
			nop = 1;
		if (!nop)
			return 0;
		i += (unsigned)nop;
	}
	return 1;
}

/* Reads the bytes that are there and checks that the kind can handle them. */
static int hook_learn(struct hook *h, const struct uft_hook *u)
{
	uint8_t now[32];
	uint32_t imm = 0;

	if (!batch_is_mapped(u->addr, 16))
		return -EFAULT;
	h->addr = u->addr;
	h->kind = u->kind;
	h->nr = u->nr;
	h->len = u->len;
	memset(now, 0, sizeof(now));
	memcpy(now, (const void *)u->addr, PLAT_PAGE - (u->addr & (PLAT_PAGE - 1)) < 32 ? 16 : 32);
	if (memcmp(now, u->bytes, u->kind == UFT_HOOK_RBRK ? 5 : u->len < 16 ? u->len : 16)) /* GUARD(hook_bytes) */
		return -EILSEQ;
	switch (u->kind) {
	case UFT_HOOK_SYSCALL:
		if (u->nr == UFT_HOOK_ANY ? !uft_insn_is_last_argument(now) : !uft_insn_is_mov_eax(now, &imm) ||
		    imm != u->nr)
			return -EILSEQ;
		/* An instruction between the mov and the syscall stays in place, and the stub executes it as well. */
		h->len = is_any(u->nr) && u->nr != UFT_HOOK_ANY ? (uint32_t)uft_insn_call_of_number(now) :
			UFT_LEN_MOV_EAX;
		if (!h->len || !uft_insn_is_syscall(now + h->len))
			return -EILSEQ;
		break;
	case UFT_HOOK_UNWIND:
		if (u->len < UFT_LEN_JMP || u->len > 16 || u->nr > UFT_UNWIND_FDE)
			return -EOPNOTSUPP;
		break;
	case UFT_HOOK_RBRK: {
		unsigned skip = (unsigned)uft_insn_is_endbr(now);

		if (now[skip] != UFT_OP_RET || !has_padding(now + skip + 1, UFT_LEN_JMP - 1) /* GUARD(hook_padding) */)
			return -EOPNOTSUPP;
		h->addr += skip;
		h->len = UFT_LEN_JMP;
		memcpy(h->orig, now + skip, 5);
		return 0;
	}
	default:
		return -EINVAL;
	}
	memcpy(h->orig, now, h->len);
	return 0;
}

/*
 * Does a thread of this process wait in r_brk? Then the session hooks an object that was just loaded, which no thread
 * has executed yet.
 */
static int is_load_pending(void)
{
	const struct uft_mail *m = uft_rt.mail;
	unsigned i;

	for (i = 0; m && i < UFT_NREQUESTS; i++)
		if (uft_load_acquire(&m->req[i].state) == UFT_REQ_POSTED && m->req[i].kind == UFT_REQ_OBJECTS &&
		    m->req[i].slice == uft_rt.slice_index)
			return 1;
	return 0;
}

static int no_thread_inside(const struct hook *h, struct quiet *q)
{
	return is_load_pending() || quiet_at(q, h->addr, h->addr + h->len);
}

/*
 * Hooks that change together, at most BATCH_HOOKS: all CPUs are synchronised three times in all, not three times per
 * hook. The journal names these arrays until the batch is over (batch.c), so a fork child has them, too.
 */
static struct {
	uint32_t n;
	struct patch_item item[BATCH_HOOKS];	/* .index: in hook and result */
	struct hook *hook[BATCH_HOOKS];
	int32_t *result[BATCH_HOOKS];
} together;

static void commit_hooks(void *arg, const struct patch_item *it, uint32_t n)
{
	(void)arg;
	for (uint32_t i = 0; i < n; i++)
		if (it[i].proto != PROTO_NONE)
			together.hook[it[i].index]->state = it[i].form;
}

/* Sorts by address, because batch_write() then opens fewer windows. */
static void sort_together(void)
{
	for (uint32_t i = 1; i < together.n; i++) {
		const struct patch_item it = together.item[i];
		uint32_t k = i;

		for (; k && together.item[k - 1].at > it.at; k--)
			together.item[k] = together.item[k - 1];
		together.item[k] = it;
	}
}

/* Writes the hooks that hook_add() has gathered. */
static void hooks_write(void)
{
	stubs_close();
	if (!together.n)
		return;
	sort_together();
	if (batch_write(together.item, together.n, 1, commit_hooks, NULL))
		for (uint32_t i = 0; i < together.n; i++)
			if (together.item[i].proto == PROTO_NONE && together.result[together.item[i].index])
				*together.result[together.item[i].index] = -EACCES;
	together.n = 0;
}

/* Is one of the gathered hooks so close that it changes bytes that @h needs? */
static int is_in_together(const struct hook *h)
{
	for (uint32_t i = 0; i < together.n; i++) {
		const struct hook *other = together.hook[together.item[i].index];

		if (h->addr < other->addr + 16 && other->addr < h->addr + 16)
			return 1;
	}
	return 0;
}

/*
 * Fills *@it with the change of the five bytes to those of @state. 0; -EBUSY: not while threads run; -EILSEQ: another
 * program has changed them; -EFAULT: they are not mapped any more.
 */
static int hook_item(const struct hook *h, unsigned state, struct quiet *q, struct patch_item *it)
{
	struct code old, new, now;
	uint8_t jmp[16] = { 0 };

	if (!batch_is_mapped(h->addr, UFT_LEN_JMP))
		return -EFAULT;
	uft_insn_jmp(jmp, h->addr, h->stub);
	__builtin_memcpy(&old, h->orig, 16);
	__builtin_memcpy(&new, jmp, 16);
	old.lo &= code_mask(5);
	old.hi = new.hi = 0;
	code_load(&now, h->addr, 5);
	if (state == HOOK_ORIGINAL) {
		struct code t = old;

		old = new;
		new = t;
	}
	if (now.lo != old.lo)
		return -EILSEQ;
	*it = (struct patch_item){ .at = h->addr, .len = UFT_LEN_JMP, .form = (uint8_t)state };
	if (h->kind == UFT_HOOK_RBRK || (state == HOOK_ARMED && no_thread_inside(h, q))) {
		it->proto = PROTO_TAIL;
		it->code = new;
		it->stand_in = h->kind == UFT_HOOK_RBRK ? UFT_OP_RET : (uint8_t)old.lo;
	} else if (state == HOOK_ARMED && h->kind == UFT_HOOK_UNWIND) {
		return -EBUSY;		/* a thread may be between the instructions that move */
	} else if (batch_item(it, h->addr, &old, &new, UFT_LEN_JMP, ITEM_AT_ONCE)) {
		if (!quiet_at(q, h->addr, h->addr + UFT_LEN_JMP))
			return -EBUSY;
		it->proto = PROTO_TAIL;
		it->code = new;
		it->stand_in = (uint8_t)old.lo;
	}
	return 0;
}

/* Adds the change to those that hooks_write() makes; hooks_write() sets *@result if it fails. 0 or as hook_item(). */
static int hook_add(struct hook *h, unsigned state, struct quiet *q, int32_t *result)
{
	struct patch_item *it;
	int ret;

	if (together.n == BATCH_HOOKS)
		hooks_write();
	it = &together.item[together.n];
	ret = hook_item(h, state, q, it);
	if (ret)
		return ret;
	it->index = together.n;
	together.hook[together.n] = h;
	together.result[together.n++] = result;
	return 0;
}

/* The same, and writes it at once. */
static int hook_switch(struct hook *h, unsigned state, struct quiet *q)
{
	int32_t result = 0;
	int ret = hook_add(h, state, q, &result);

	hooks_write();
	return ret ? ret : result;
}

/*
 * Does the record describe the bytes that are mapped there now? Objects come and go, and the runtime does not hear of
 * all.
 */
static int is_current(const struct hook *h, const struct uft_hook *u)
{
	uint8_t now[UFT_LEN_JMP];

	if (h->state == HOOK_ORIGINAL)
		return h->kind == UFT_HOOK_RBRK ||
		       (h->nr == u->nr && h->len == u->len && !memcmp(h->orig, u->bytes, h->len));
	if (!batch_is_mapped(h->addr, sizeof(now)))
		return 0;
	memcpy(now, (const void *)h->addr, sizeof(now));
	return uft_insn_is_jmp(now) && uft_insn_branch_target(now, UFT_LEN_JMP, h->addr) == h->stub;
}

static struct hook *hook_find(const struct uft_hook *u)
{
	struct hook *h;

	for (h = hooks; h; h = h->next) {
		if (h->is_gone || h->kind != u->kind ||
		    (h->addr != u->addr && (h->kind != UFT_HOOK_RBRK || h->addr != u->addr + UFT_LEN_ENDBR)))
			continue;
		if (is_current(h, u))
			return h;
		h->is_gone = 1;
	}
	return NULL;
}

static int hook_one(struct uft_hook *u, struct quiet *q)
{
	struct hook *h = hook_find(u);
	int ret;

	if (h && h->state == HOOK_ARMED)
		return 0;
	if (h && h->state == HOOK_PASSIVE) {
		h->state = HOOK_ARMED;
		return 0;
	}
	if (!h) {
		struct hook learnt = { .addr = u->addr };

		if (is_in_together(&learnt)) /* GUARD(hooks_apart) */
			hooks_write();
		memset(&learnt, 0, sizeof(learnt));
		ret = hook_learn(&learnt, u);
		if (!ret)
			ret = make_stub(&learnt);
		if (ret)
			return ret;
		h = plat_alloc(sizeof(*h));
		if (!h)
			return -ENOMEM;
		*h = learnt;
		h->next = hooks;
		uft_store_release(&hooks, h);
	} else if (is_in_together(h)) {
		hooks_write();
		return hook_one(u, q);		/* the hooks just written may have been the reason */
	}
	return hook_add(h, HOOK_ARMED, q, &u->result);
}

static void point_areas(int is_active)
{
	struct hook_area *a;

	for (a = areas; a; a = a->next)
		area_point(a, is_active);
}

/* A fork child may be born while its parent has hooks gathered and stubs open: the child forgets both. */
static void hooks_begin(void)
{
	batch_begin();
	stubs.area = NULL;
	together.n = 0;
}

int patch_hooks(struct uft_hook *u, uint32_t n)
{
	struct quiet q = { 0, 0, { 0 } };
	uint32_t i;
	int ret = 0;

	hooks_begin();
	point_areas(1);
	for (i = 0; i < n; i++)
		u[i].result = hook_one(&u[i], &q);
	hooks_write();
	for (i = 0; i < n && !ret; i++)
		ret = u[i].result;
	return ret;
}

uint32_t patch_disarm_hooks(void)
{
	struct quiet q = { 0, 0, { 0 } };
	uint32_t left = 0;
	struct hook *h;

	/* The cells of all areas first, so that no hook calls the runtime, even if its bytes cannot be restored. */
	hooks_begin();
	point_areas(0); /* GUARD(hook_disarm_point_areas) */
	for (h = hooks; h; h = h->next)
		if (!h->is_gone && h->state != HOOK_ORIGINAL) {
			int ret = hook_switch(h, HOOK_ORIGINAL, &q);

			if (ret)
				h->state = HOOK_PASSIVE;
			left += ret == -EBUSY;
			h->is_stuck = ret && ret != -EBUSY && batch_is_mapped(h->addr, h->len) &&
				      memcmp((const void *)h->addr, h->orig, h->len);
		}
	return left;
}

uint32_t hook_stuck(uint64_t at, uint64_t bytes)
{
	uint32_t n = 0;

	for (const struct hook *h = hooks; h; h = h->next)
		n += !h->is_gone && h->state == HOOK_PASSIVE && h->is_stuck && h->stub - at < bytes;
	return n;
}

/* Is rsp below the red zone there, between the two lea? @at: offset in the stub. */
static int is_low(const struct hook *h, unsigned at)
{
	const unsigned before = is_any(h->nr) ? h->len + 1 : UFT_LEN_MOV_EAX;
	const unsigned first = before + 5, second = first + 14 + UFT_LEN_MOV_EAX + UFT_LEN_SYSCALL + 5;

	return (at >= first && at < first + 14) || (!is_any(h->nr) && at >= second && at < second + 14);
}

int hook_frame(uintptr_t pc)
{
	const struct hook *h;

	for (h = hooks; h && pc - h->stub >= SLOT_BYTES; h = h->next)
		;
	if (!h)
		return -1;
	if (h->kind == UFT_HOOK_SYSCALL && is_low(h, (unsigned)(pc - h->stub)))
		return UFT_FRAME_HOOK_LOW;
	if (h->kind != UFT_HOOK_UNWIND || pc - h->stub < UFT_LEN_INDIRECT)
		return UFT_FRAME_HOOK;
	return UFT_FRAME_HOOK + (int)(pc - h->stub - UFT_LEN_INDIRECT);
}

void hook_forget(uintptr_t lo, uintptr_t hi)
{
	struct hook *h;

	for (h = hooks; h; h = h->next)
		if (h->addr >= lo && h->addr < hi)
			h->is_gone = 1;
}

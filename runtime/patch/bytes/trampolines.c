/* SPDX-License-Identifier: MIT */
/*
 * trampolines.c - the code that sites jump to: thunks, stubs, aux code and islands of each object
 *
 * An object gets one region within branch reach of all of its text, address space for the worst case:
 *
 *	cells	rw-	one page: where each thunk jumps. Switching the graph handler is one aligned store here.
 *	thunks r-x one page (runtime/arch/arch.h describes them)
 *	stubs r-x UFT_STUB_BYTES each, by stub index; a stub is written when its site first needs one
 *	aux	r-x	AUX_BYTES each, by stub index; for plain functions (unprepared.c), and the few prepared sites
 *			that cannot call their thunk directly
 *	words	rw-	one each, by stub index; the cells of plain functions
 *
 * Aux code, FUNCTION, for an entry site whose branch cannot return to the site's end (a nop longer than a
 * padded call, PREPAD). The handler returns to X; K makes the site's id of X:
 *
 *		call 1f
 *	X:	jmp site+len
 *	1:	push %rax; mov $(X >> 2) - id,%eax; jmp *func(%rip)
 *
 * Aux code of a call that the program makes itself. It sees the stack as it would have without us. At the entry:
 *
 *		push 8(%rsp)			the parent, where the handler looks for it
 *		call 1f
 *	X:	lea 8(%rsp),%rsp; jmp own	own: what the site called
 *	1:	push %rax; mov $K,%eax; jmp *func(%rip)
 *	g:	push cell(%rip); jmp own	GRAPH: the stub calls this instead of site+len; cell holds site+len
 *
 * after the prologue the two instructions about the parent fall away, and the graph stub's `ret` is `jmp own`. In
 * graph mode the program's own function sees our stub where its caller's caller was; the rest is as it was.
 *
 * CLASS_SWITCH: the site calls s for good, and what is armed is decided by an aligned word of data:
 *
 *	s:	jmp *where(%rip)		where: o, the aux code above, or (GRAPH) p; after the prologue the stub
 *	o:	jmp own
 *	p:	lea 8(%rsp),%rsp; jmp stub	the stub of an entry is jumped to, not called
 *
 * At a detach with a site that cannot be restored, the thunks' cells are set to code behind the thunks, which goes on
 * as if no site was armed (foreign_bytes.c).
 *
 * Everything here stays mapped as long as the process lives: a thread may come back to a stub after any time. Code that
 * was written for a site never changes (except the flags byte, which is data), so it may be written while other threads
 * run through it. When an object is unmapped, its region is used again for the next object of the same extent at the
 * same place.
 *
 * Context: control. A fork child reads the list, too: it inherits a copy.
 */
#include "runtime/base/mem.h"
#include "runtime/patch/bytes/bytes.h"

#define CELL_HANDLER(t)	((t) * 8u)

static struct patch_object *objects;	/* newest first */

struct patch_object *object_first(void)
{
	return objects;
}

struct patch_object *object_find(uint32_t object)
{
	struct patch_object *o;

	for (o = objects; o; o = o->next)
		if (o->object == object && !o->is_gone)
			return o;
	return NULL;
}

/* ---- regions ------------------------------------------------------------------------------------- */

uint64_t *thunk_cell(const struct patch_object *o, enum thunk t)
{
	return (uint64_t *)(o->region + CELL_HANDLER(t));
}

void patch_retarget(void)
{
	struct patch_object *o;

	/* Also regions of objects that are gone: threads may still be on their way through their stubs. */
	for (o = objects; o; o = o->next) {
		if (o->nstuck)
			continue;
		for (enum thunk t = THUNK_FUNC; t < NTHUNKS; t++)
			uft_store_release(thunk_cell(o, t), (uint64_t)thunk_handler(t));
	}
}

/* The cells of thunks lead here when there is no handler any more. rax lies on the stack, and flags are kept. */
static const uint8_t pass_func[] = { 0x58, 0xc3 };		/* pop %rax; ret */
/* the stub's second call, to which the handler would return, acts as a jump here */
static const uint8_t pass_enter[] = {
	0x51,					/* push %rcx */
	0x48, 0x8b, 0x44, 0x24, 0x10,		/* mov 16(%rsp),%rax: stub + 5 */
	0x48, 0x63, 0x48, 0x01,			/* movslq 1(%rax),%rcx */
	0x48, 0x8d, 0x44, 0x08, 0x05,		/* lea 5(%rax,%rcx),%rax */
	0x48, 0x89, 0x44, 0x24, 0x10,		/* mov %rax,16(%rsp) */
	0x59, 0x58, 0xc3,			/* pop %rcx; pop %rax; ret */
};
#define PASS_FUNC	(NTHUNKS * THUNK_BYTES)		/* behind the thunks */
#define PASS_ENTER	(PASS_FUNC + THUNK_BYTES)
_Static_assert(sizeof(pass_func) <= THUNK_BYTES && PASS_ENTER + sizeof(pass_enter) <= PLAT_PAGE, "the page of thunks");

static int write_pass(const struct patch_object *o, unsigned at, const uint8_t *bytes, unsigned n,
		      struct plat_window *w)
{
	struct tramp_code c = { .at = o->thunk[0] + at, .n = (uint8_t)n };

	memcpy(c.bytes, bytes, n);
	return batch_write_tramp(&c, w);
}

void thunks_pass_through(struct patch_object *o)
{
	for (unsigned t = 0; t < NTHUNKS; t++)
		if (t != THUNK_EXIT)		/* no thread returns there any more */
			uft_store_release(thunk_cell(o, t),
					  (uint64_t)(o->thunk[0] + (t == THUNK_ENTER ? PASS_ENTER : PASS_FUNC)));
}

static uint32_t text_k(const struct patch_object *o)
{
	/* GUARD(stub_index, (uint32_t)(o->text_start >> 2) + o->first_text_id) */
	return (uint32_t)(o->text_start >> 2) - o->first_text_id;
}

static uint32_t stub_k(const struct patch_object *o)
{
	return (uint32_t)(o->stub_base >> 4) - o->first_stub_id;
}

/* push %rax; mov $k,%eax; jmp *cell(%rip) */
static size_t put_thunk(uint8_t *at, uintptr_t pc, uint32_t k, const uint64_t *target)
{
	size_t n = uft_insn_push_rax(at);

	n += uft_insn_mov_eax(at + n, k);
	return n + uft_insn_jmp_indirect(at + n, pc + n, (uint64_t)target);
}

static int write_thunks(struct patch_object *o)
{
	struct plat_window w;
	struct tramp_code c;
	unsigned t;
	int ret;

	for (t = 0; t < NTHUNKS; t++) {
		o->thunk[t] = o->region + PLAT_PAGE + t * THUNK_BYTES;
		uft_store_release(thunk_cell(o, t), (uint64_t)thunk_handler(t));
	}
	ret = plat_text_open(&w, o->thunk[0], o->thunk[0] + PASS_ENTER + sizeof(pass_enter), PLAT_READ | PLAT_EXEC,
			     (int)uft_rt.no_mprotect);
	if (ret)
		return ret;
	if (!w.is_direct)
		uft_rt.no_mprotect = 1;
	for (t = 0; t < NTHUNKS && !ret; t++) {
		c.at = o->thunk[t];
		if (t == THUNK_EXIT)
			c.n = (uint8_t)uft_insn_jmp_indirect(c.bytes, c.at, (uint64_t)thunk_cell(o, t));
		else
			c.n = (uint8_t)put_thunk(c.bytes, c.at,
						 t <= THUNK_MFUNC ? UFT_THUNK_K(text_k(o), UFT_REC_FUNC) :
						 UFT_THUNK_K(stub_k(o), UFT_REC_ENTRY), thunk_cell(o, t));
		ret = batch_write_tramp(&c, &w);
	}
	if (!ret)
		ret = write_pass(o, PASS_FUNC, pass_func, sizeof(pass_func), &w);
	if (!ret)
		ret = write_pass(o, PASS_ENTER, pass_enter, sizeof(pass_enter), &w);
	plat_text_close(&w);
	plat_sync_cores();
	return ret;
}

static int map_region(struct patch_object *o)
{
	size_t stubs = PLAT_PAGE_UP((size_t)o->capacity * UFT_STUB_BYTES);
	size_t aux = PLAT_PAGE_UP((size_t)o->capacity * AUX_BYTES), cells = PLAT_PAGE_UP((size_t)o->capacity * 8);
	size_t bytes = 2 * PLAT_PAGE + stubs + aux + cells;
	int ret = plat_map_near(o->text_start, o->text_end, bytes, PLAT_READ | PLAT_EXEC, &o->region);

	if (ret)
		return ret;
	/* No security policy forbids taking x away. */
	ret = plat_protect(o->region, PLAT_PAGE, PLAT_READ | PLAT_WRITE);
	if (!ret)
		ret = plat_protect(o->region + bytes - cells, cells, PLAT_READ | PLAT_WRITE);
	if (ret) {
		plat_unmap((void *)o->region, bytes);
		return ret;
	}
	o->region_end = o->region + bytes;
	o->stub_base = o->region + 2 * PLAT_PAGE;
	o->aux_base = o->stub_base + stubs;
	o->cell_base = o->aux_base + aux;
	return 0;
}

/* A region that is left from an object of the same extent. Its islands fit as well: they depend on the extent only. */
static struct patch_object *reuse(const struct uft_cmd_object *c)
{
	struct patch_object *o;

	for (o = objects; o; o = o->next)
		if (o->is_gone && o->text_start == c->text_start && o->text_end == c->text_end &&
		    o->capacity >= c->nstubs)
			return o;
	return NULL;
}

static void fill_answer(const struct patch_object *o, struct uft_cmd_object *c)
{
	c->stub_base = o->stub_base;
	c->tramp_base = o->region;
	c->tramp_end = o->region_end;
	c->code_base = o->aux_base;
}

/* Populates pages that will be written, by one call. Pages that cannot be populated come by faults later. */
static void warm_up(struct patch_object *o, unsigned warm)
{
	struct plat_window w;

	if (warm & UFT_WARM_SITES) {
		plat_populate((uintptr_t)o->site, (uintptr_t)(o->site + o->nstubs));
		o->nwarm = o->nstubs;
	}
	if (!(warm & UFT_WARM_STUBS) ||
	    plat_text_open(&w, o->stub_base, stub_at(o, o->nstubs), PLAT_READ | PLAT_EXEC, (int)uft_rt.no_mprotect))
		return;
	if (w.is_direct) {
		plat_populate(o->stub_base, stub_at(o, o->nstubs));
		o->nwarm_stubs = o->nstubs;
	}
	plat_text_close(&w);
}

int patch_object(struct uft_cmd_object *c)
{
	struct patch_object *o = object_find(c->object);
	int ret, is_new = 0;

	if (c->text_end <= c->text_start || c->object >= UFT_MAX_OBJECTS)
		return -EINVAL;
	if (o) {
		if (o->text_start != c->text_start || o->text_end != c->text_end ||
		    o->first_text_id != c->first_text_id || o->first_stub_id != c->first_stub_id)
			return -EEXIST;
		if (c->nstubs > o->capacity)
			return -ENOSPC;
		if (c->nstubs > o->nstubs)
			o->nstubs = c->nstubs;
		fill_answer(o, c);
		return 0;
	}
	o = reuse(c);
	if (!o) {
		o = plat_alloc(sizeof(*o));
		if (!o)
			return -ENOMEM;
		is_new = 1;
		o->text_start = c->text_start;
		o->text_end = c->text_end;
		o->capacity = c->nstubs + c->nstubs / 4 + 64;	/* some more sites may be found later */
	}
	o->object = c->object;
	o->nstubs = c->nstubs;
	o->first_text_id = c->first_text_id;
	o->first_stub_id = c->first_stub_id;
	o->npads = o->nstuck = o->nwarm = o->nwarm_stubs = 0;
	o->block = NULL;
	o->site = plat_map((size_t)o->capacity * sizeof(*o->site));
	if (!o->site)
		return -ENOMEM;
	ret = is_new ? map_region(o) : 0;
	if (!ret)
		ret = write_thunks(o);
	if (ret) {
		plat_unmap(o->site, (size_t)o->capacity * sizeof(*o->site));
		if (is_new && o->region)
			plat_unmap((void *)o->region, o->region_end - o->region);
		return ret;
	}
	o->is_gone = 0;
	if (is_new) {
		o->next = objects;
		uft_store_release(&objects, o);
	}
	fill_answer(o, c);
	if (c->warm)
		warm_up(o, c->warm);
	return 0;
}

void patch_describe(struct uft_debug *d)
{
	d->tables = frames_tables();
	d->objects = (uint64_t)&objects;
	d->object_next = offsetof(struct patch_object, next);
	d->object_stubs = offsetof(struct patch_object, stub_base);
	d->object_aux = offsetof(struct patch_object, aux_base);
	d->object_cells = offsetof(struct patch_object, cell_base);
	d->object_region = offsetof(struct patch_object, region);
	d->object_thunks = offsetof(struct patch_object, thunk);
	d->nthunks = NTHUNKS;
	d->exit_thunk = THUNK_EXIT;
}

/* ---- islands --------------------------------------------------------------------------------------- */

/* Displacements of nop islands end in the two bytes that the nop has there; their upper half is free. */
static int32_t map_nop_isle(struct patch_object *o, uint32_t low)
{
	size_t bytes = PLAT_PAGE_UP(o->text_end - o->text_start) + (64u << 10) + 2 * PLAT_PAGE;
	uintptr_t at, first = o->text_start + 5 + low;
	int64_t k;

	if (plat_map_near(o->text_start, o->text_end, bytes, PLAT_READ | PLAT_EXEC, &at))
		return 1;
	/* The smallest k with first + k * 64 KiB >= at; the shift is arithmetic. */
	k = ((int64_t)(at - first) + 0xffff) >> 16;
	return (int32_t)(low + k * 65536);
}

static int32_t map_sled_isle(struct patch_object *o)
{
	int32_t disp;
	unsigned i;

	for (i = 0; (disp = site_sled_displacement(i)); i++) {
		uintptr_t lo = o->text_start + (uintptr_t)(intptr_t)disp,
			  hi = o->text_end + 16 + (uintptr_t)(intptr_t)disp;

		/* Wrapped below zero, or beyond what any process may map: the host refuses that. */
		if (lo > hi || lo < PLAT_PAGE)
			continue;
		lo = PLAT_PAGE_DOWN(lo);
		if (!plat_map_at(lo, PLAT_PAGE_UP(hi) - lo, PLAT_READ | PLAT_EXEC))
			return disp;
	}
	return 1;
}

int32_t tramp_isle(struct patch_object *o, unsigned isle, unsigned way)
{
	static const uint32_t low[] = { [ISLE_NOP5] = 0x441f, [ISLE_NOP7] = 0x801f, [ISLE_NOP8] = 0x841f };
	int32_t *disp = &o->isle[isle][way];

	if (!*disp)
		*disp = isle == ISLE_SLED ? map_sled_isle(o) : map_nop_isle(o, low[isle]);
	return *disp;
}

/* ---- pieces of code -------------------------------------------------------------------------------- */

static int is_own(const struct patch_site *s)
{
	return UFT_SITE_IS_OWN(s->kind_len & 0xf);
}

/* Does FORM_FUNCTION use aux code? */
static int uses_aux(const struct patch_site *s)
{
	return is_own(s) || s->class == CLASS_PREPAD || (!(s->bits & SITE_FRAME) && !site_calls_directly(s));
}

unsigned tramp_missing(const struct patch_site *s, unsigned form)
{
	unsigned need = 0;
	int is_isle = s->class == CLASS_ISLE || s->class == CLASS_ISLE_CALL;

	if (s->class == CLASS_SWITCH && form != FORM_ORIGINAL)
		need |= SITE_HAS_SWITCH;
	if (form == FORM_FUNCTION || form == FORM_NOP_F) {
		if (uses_aux(s))
			need |= SITE_HAS_AUX;
		if (is_isle)
			need |= SITE_HAS_ISLE_F;
	} else if (form == FORM_GRAPH || form == FORM_NOP_G) {
		need |= SITE_HAS_STUB;
		if (is_own(s) && !(s->bits & SITE_FRAME))
			need |= SITE_HAS_OWN_GRAPH;
		if (is_isle)
			need |= SITE_HAS_ISLE_G;
	}
	return need & ~s->bits;
}

static uintptr_t site_end(const struct patch_site *s)
{
	return s->addr + (s->kind_len >> 4);
}

/* A jump to the target of the site's own call. */
static int put_own_jump(const struct patch_site *s, uint8_t *at, uintptr_t pc)
{
	unsigned len = s->kind_len >> 4;
	uintptr_t target = uft_insn_branch_target(s->orig, len, s->addr);

	if (s->orig[0] == 0xff) {	/* the target is the content of a cell */
		if (!uft_insn_reaches(pc + 6, target))
			return -ERANGE;
		return (int)uft_insn_jmp_indirect(at, pc, target);
	}
	if (!uft_insn_reaches(pc + 5, target))
		return -ERANGE;
	return (int)uft_insn_jmp(at, pc, target);
}

/* The thunk at the end of aux code. @x: the return address that the handler will see. */
static size_t put_aux_thunk(const struct patch_object *o, const struct patch_site *s, uint8_t *at, uintptr_t pc,
			    uintptr_t x)
{
	uint32_t id = (uint32_t)(site_end(s) >> 2) - text_k(o);

	return put_thunk(at, pc, UFT_THUNK_K((uint32_t)(x >> 2) - id, UFT_REC_FUNC),
			 thunk_cell(o, s->bits & SITE_FRAME ? THUNK_MFUNC : THUNK_FUNC));
}

static int build_aux(const struct patch_object *o, const struct patch_site *s, struct tramp_code *c)
{
	static const uint8_t push_parent[] = { 0xff, 0x74, 0x24, 0x08 };	/* push 8(%rsp) */
	int keeps_parent = is_own(s) && !(s->bits & SITE_FRAME), ret;
	size_t n = 0, call;
	uintptr_t x;

	if (keeps_parent) {
		memcpy(c->bytes, push_parent, sizeof(push_parent));
		n = sizeof(push_parent);
	}
	call = n;
	n += UFT_LEN_CALL;
	x = c->at + n;
	if (keeps_parent)
		n += uft_insn_lea_rsp(c->bytes + n, 8);
	if (is_own(s)) {
		ret = put_own_jump(s, c->bytes + n, c->at + n);
		if (ret < 0)
			return ret;
		n += (size_t)ret;
	} else {
		n += uft_insn_jmp(c->bytes + n, c->at + n, site_end(s));
	}
	uft_insn_call(c->bytes + call, c->at + call, c->at + n);
	n += put_aux_thunk(o, s, c->bytes + n, c->at + n, x);
	c->n = (uint8_t)n;
	return 0;
}

/* The code that an own call's graph stub calls instead of site+len; an item of its own writes it into the same slot. */
static int build_own_graph(const struct patch_object *o, const struct patch_site *s, uint32_t index,
			   struct tramp_code *c)
{
	uintptr_t end = site_end(s);
	size_t n;
	int ret;

	c->at = aux_at(o, index) + AUX_OWN_GRAPH;
	n = uft_insn_push_cell(c->bytes, c->at, aux_at(o, index) + AUX_OWN_CELL);
	ret = put_own_jump(s, c->bytes + n, c->at + n);
	if (ret < 0)
		return ret;
	memset(c->bytes + n + ret, UFT_OP_INT3, AUX_OWN_CELL - AUX_OWN_GRAPH - n - (size_t)ret);
	memcpy(c->bytes + (AUX_OWN_CELL - AUX_OWN_GRAPH), &end, 8);
	c->n = AUX_OWN_CELL - AUX_OWN_GRAPH + 8;
	return 0;
}

uintptr_t tramp_switch_target(const struct patch_object *o, const struct patch_site *s, uint32_t index, unsigned form)
{
	if (form == FORM_FUNCTION)
		return aux_at(o, index);
	if (form != FORM_GRAPH)
		return aux_at(o, index) + AUX_SWITCH_OWN;
	return s->bits & SITE_FRAME ? stub_at(o, index) : aux_at(o, index) + AUX_SWITCH_GRAPH;
}

static int build_switch(const struct patch_object *o, const struct patch_site *s, uint32_t index, struct tramp_code *c)
{
	uint8_t *own = c->bytes + (AUX_SWITCH_OWN - AUX_SWITCH), *graph = c->bytes + (AUX_SWITCH_GRAPH - AUX_SWITCH);
	uintptr_t slot = aux_at(o, index);
	uintptr_t where = slot + AUX_SWITCH_OWN; /* GUARD(aux_switch_own, slot) */
	int ret;

	c->at = slot + AUX_SWITCH;
	c->n = AUX_SWITCH_CELL - AUX_SWITCH + 8;
	memset(c->bytes, UFT_OP_INT3, c->n);
	uft_insn_jmp_indirect(c->bytes, c->at, slot + AUX_SWITCH_CELL);
	ret = put_own_jump(s, own, slot + AUX_SWITCH_OWN);
	if (ret < 0)
		return ret;
	graph += uft_insn_lea_rsp(graph, 8);
	uft_insn_jmp(graph, c->at + (uintptr_t)(graph - c->bytes), stub_at(o, index));
	memcpy(c->bytes + (AUX_SWITCH_CELL - AUX_SWITCH), &where, 8);
	return 0;
}

static int build_stub(const struct patch_object *o, const struct patch_site *s, uint32_t index, uint8_t flags,
		      struct tramp_code *c)
{
	size_t n;
	int ret;

	c->at = stub_at(o, index);
	memset(c->bytes, 0, UFT_STUB_BYTES);
	if (s->bits & SITE_FRAME) {
		n = uft_insn_call(c->bytes, c->at, o->thunk[THUNK_MENTER]);
		if (is_own(s)) {
			ret = put_own_jump(s, c->bytes + n, c->at + n);
			if (ret < 0)
				return ret;
		} else {
			uft_insn_ret(c->bytes + n);
		}
	} else {
		n = uft_insn_call(c->bytes, c->at, o->thunk[THUNK_ENTER]);
		n += uft_insn_call(c->bytes + n, c->at + n,
				   is_own(s) /* GUARD(own_call_target) */ ?
				   aux_at(o, index) + AUX_OWN_GRAPH : site_end(s));
		uft_insn_jmp(c->bytes + n, c->at + n, o->thunk[THUNK_EXIT]);
	}
	c->bytes[UFT_STUB_BYTES - 1] = flags;
	c->n = UFT_STUB_BYTES;
	return 0;
}

/* Displacement of a branch of five bytes at @pc. */
static inline uint64_t displacement(uintptr_t pc, uintptr_t to)
{
	return (uint32_t)(to - (pc + 5));
}

/* call enter; call end; jmp exit; flags, as build_stub() writes them, by two stores. */
void tramp_entry_stub(const struct patch_object *o, uint32_t index, uintptr_t end, uint8_t flags)
{
	uintptr_t at = stub_at(o, index);
	uint64_t body = displacement(at + 5, end), *slot = (uint64_t *)at;
	uint64_t lo =
		UFT_OP_CALL | displacement(at, o->thunk[THUNK_ENTER]) << 8 | (uint64_t)UFT_OP_CALL << 40 | body << 48;
	uint64_t hi = body >> 16 | (uint64_t)UFT_OP_JMP << 16 | displacement(at + 10, o->thunk[THUNK_EXIT]) << 24 |
		      (uint64_t)flags << 56;

	if (slot[0] != lo)
		slot[0] = lo;
	if (slot[1] != hi)
		slot[1] = hi;
}

static int build_isle(const struct patch_object *o, const struct patch_site *s, uint32_t index, unsigned way,
		      struct tramp_code *c)
{
	uintptr_t to;

	c->at = s->addr + 5 + (uintptr_t)(intptr_t)o->isle[s->isle][way];
	if (way == ISLE_G)
		to = stub_at(o, index);
	else if (s->bits & SITE_FRAME)
		to = o->thunk[THUNK_MFUNC];
	else
		to = site_calls_directly(s) ? o->thunk[THUNK_FUNC] : aux_at(o, index);
	if (!uft_insn_reaches(c->at + UFT_LEN_JMP, to))
		return -ERANGE;
	c->n = (uint8_t)uft_insn_jmp(c->bytes, c->at, to);
	return 0;
}

int tramp_build(const struct patch_object *o, const struct patch_site *s, uint32_t index, unsigned bit, uint8_t flags,
	       struct tramp_code *c)
{
	switch (bit) {
	case SITE_HAS_STUB:
		return build_stub(o, s, index, flags /* GUARD(stub_flags, 0) */, c);
	case SITE_HAS_AUX:
		c->at = aux_at(o, index);
		return build_aux(o, s, c);
	case SITE_HAS_OWN_GRAPH:
		return build_own_graph(o, s, index, c);
	case SITE_HAS_SWITCH:
		return build_switch(o, s, index, c);
	case SITE_HAS_ISLE_F:
		return build_isle(o, s, index, ISLE_F, c);
	default:
		return build_isle(o, s, index, ISLE_G, c);
	}
}

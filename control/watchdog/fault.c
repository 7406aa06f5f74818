// SPDX-License-Identifier: MIT
/*
 * fault.c - decide whether uft caused a fault, and if so restore the program's code
 *
 * A task stands before the delivery of SIGSEGV, SIGILL, SIGBUS or SIGTRAP that the kernel raised. Ours is a pc
 *	- at a site that we changed,
 *	- in memory that the runtime has mapped (UFT_CMD_MAPPINGS), or within a page behind it where nothing of the
 *	  program's is.
 * Everything else is the program's own and is delivered untouched, at the price of the look.
 *
 * If uft caused it, the report is made first, of the unchanged state; then the agent restores everything (LEAVE,
 * UNHOOK: the agent is a task of its own and not stopped), a site whose bytes it does not know any more is
 * written from the file, and the pc goes to the place in the program that corresponds, where there is one:
 *
 *	at a site	its start
 *	stub + 0	behind the site's instruction (after the prologue: and its return address off the stack)
 *	stub + 5	the same, and the parent's address, which lies just below the stack pointer, back on it
 *	moved code	the instruction's own place
 *	stub + 10	where the call returns to; UNHOOK has put that into the slot just below the stack pointer
 *
 * Then the program goes on without a signal. A fault in moved code that is as it was made is the program's
 * own: it gets the signal, at its own address. Without a place to go, if it is a stack overflow, or if it
 * comes again at the same pc, the signal is delivered as it came.
 */
#include "control/ptrace/task_stop.h"
#include "control/watchdog/watchdog.h"

#include "control/plan/unprepared.h"
#include "control/relocate/entry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <unistd.h>

#include "symbol/names.h"
#include "symbol/sorted.h"

#define REPORT_BYTES	8192
#define BEHIND		UFT_PAGE	/* a pc up to so far behind our memory may be our fault */
#define MAX_OWNED	65536u
#define NO_STUB		UINT32_MAX

struct fault {
	struct uft_session *s;
	struct target *t;
	pid_t tid;
	int sig;
	siginfo_t info;
	struct user_regs_struct regs;
	enum { AT_SITE, IN_STUB, IN_CODE, IN_BLOB, IN_MEMORY } where;
	uint32_t object, stub;		/* NO_STUB: not known which */
	uint64_t stub_at;		/* IN_STUB, IN_CODE: where it begins */
	char text[REPORT_BYTES];
	size_t len;
};

/* ---- The place of a fault ------------------------------------------------------------------- */

/* The site with a stub index. */
struct place {
	uint64_t addr, func;		/* vaddr */
	unsigned len;			/* bytes that change */
	const struct uft_site *site;	/* prepared, or: */
	const struct entry *entry;
};

static int place_of(const struct fault *f, struct place *p)
{
	const struct space_obj *o = &f->t->space->obj[f->object];
	const struct uft_object *obj = f->t->space->img->obj[f->object].obj;

	*p = (struct place){ .addr = 0 };
	if (f->stub < obj->nsite) {
		p->site = &obj->site[f->stub];
		p->addr = p->site->addr;
		p->func = p->site->func;
		p->len = p->site->len;
	} else if (f->stub != NO_STUB && f->stub - obj->nsite < unprepared_count(o)) {
		p->entry = unprepared_entry(o, f->stub - obj->nsite);
		p->addr = p->entry->addr;
		p->func = p->entry->func;
		p->len = entry_len(obj, p->entry);
	} else {
		return 0;
	}
	return 1;
}

/* The same among unprepared functions. */
static int find_plain(struct fault *f, uint32_t object, uint64_t addr)
{
	const struct space_obj *o = &f->t->space->obj[object];
	size_t lo = SORTED_FIRST(i, unprepared_count(o), unprepared_entry(o, i)->addr > addr),
	       nsite = f->t->space->img->obj[object].obj->nsite;

	if (!lo || !o->sent || o->sent[nsite + lo - 1] == WANT_NOT ||
	    addr - unprepared_entry(o, lo - 1)->addr >=
		    entry_len(f->t->space->img->obj[object].obj, unprepared_entry(o, lo - 1)))
		return 0;
	f->where = AT_SITE;
	f->object = object;
	f->stub = (uint32_t)(nsite + lo - 1);
	return 1;
}

/* The site whose bytes the pc is in, if a target of the space was told to change it. */
static int find_site(struct fault *f, uint32_t object, uint64_t addr)
{
	const struct uft_object *obj = f->t->space->img->obj[object].obj;
	const uint16_t *sent = f->t->space->obj[object].sent;
	size_t lo = SORTED_FIRST(i, obj->nsite, obj->site[i].addr > addr);

	if (!lo || !sent || addr - obj->site[lo - 1].addr >= obj->site[lo - 1].len || sent[lo - 1] == WANT_NOT)
		return find_plain(f, object, addr);
	f->where = AT_SITE;
	f->object = object;
	f->stub = (uint32_t)(lo - 1);
	return 1;
}

/* 1: a site; 0: in the text of an object, not at a site; -1: in no object. */
static int find_in_objects(struct fault *f)
{
	const struct uft_image *img = f->t->space->img;
	uint64_t pc = f->regs.rip;

	/* The pc is behind an executed int3. */
	if (f->sig == SIGTRAP)
		pc--;
	for (uint32_t i = 0; i < img->nobj; i++)
		if (pc >= img->obj[i].text_start && pc < img->obj[i].text_end)
			return find_site(f, i, pc - img->obj[i].bias);
	return -1;
}

static int is_owned(struct fault *f)
{
	struct uft_cmd uft_shared *c = arena_cmd(&f->s->arena, f->t->slice);
	const struct uft_owned uft_shared *list = (const struct uft_owned uft_shared *)channel_payload(c);
	uint32_t n;

	if (command_run(f->s, f->t, UFT_CMD_MAPPINGS))
		return 0;
	n = SHARED_LOAD(&c->n);
	n = n < MAX_OWNED ? n : MAX_OWNED;
	for (uint32_t i = 0; i < n && (uint64_t)(i + 1) * sizeof(*list) <= f->s->arena.map->cmd_bytes - UFT_CMD_PAYLOAD;
	     i++) {
		struct uft_owned o;
		uint64_t bytes;

		shared_read(&o, &list[i], sizeof(o));
		bytes = o.bytes & ~(uint64_t)(UFT_PAGE - 1);
		if (f->regs.rip - o.at < bytes + BEHIND)
			return 1;
	}
	return 0;
}

/* Where a jump leads that ends in bytes of the program: nothing has been done yet, as at the site. */
static int find_pun(struct fault *f)
{
	const struct space *sp = f->t->space;

	for (uint32_t i = 0; i < sp->nobj; i++)
		for (size_t k = 0; k < unprepared_count(&sp->obj[i]); k++) {
			uint32_t stub = (uint32_t)(sp->img->obj[i].obj->nsite + k);

			if (!unprepared_entry(&sp->obj[i], k)->pun ||
			    f->regs.rip - unprepared_pun_place(f->t, i, stub) >= UFT_PUN_BYTES)
				continue;
			f->where = AT_SITE;
			f->object = i;
			f->stub = stub;
			return 1;
		}
	return 0;
}

static void name_memory(struct fault *f)
{
	const struct space *sp = f->t->space;
	const struct blob *b = NULL;
	uint64_t pc = f->regs.rip;

	f->where = IN_MEMORY;
	for (uint32_t i = 0; i < sp->nobj; i++) {
		const struct space_obj *o = &sp->obj[i];
		uint64_t n = sp->img->obj[i].nstubs;

		if (pc - o->tramp_base >= o->tramp_end - o->tramp_base)
			continue;
		f->object = i;
		if (pc - o->stub_base < n * UFT_STUB_BYTES) {
			f->where = IN_STUB;
			f->stub = (uint32_t)((pc - o->stub_base) / UFT_STUB_BYTES);
			f->stub_at = o->stub_base + (uint64_t)f->stub * UFT_STUB_BYTES;
		} else if (f->t->obj[i].code_base && pc - f->t->obj[i].code_base < n * UFT_CODE_STRIDE) {
			f->where = IN_CODE;
			f->stub = (uint32_t)((pc - f->t->obj[i].code_base) / UFT_CODE_STRIDE);
			f->stub_at = f->t->obj[i].code_base + (uint64_t)f->stub * UFT_CODE_STRIDE;
		}
		return;
	}
	if (find_pun(f))
		return;
	if (!blob_get(&b) && pc - (sp->boot - b->boot) < b->span)
		f->where = IN_BLOB;
}

static int is_ours(struct fault *f)
{
	int at = find_in_objects(f);

	if (at >= 0)
		return at;
	if (!is_owned(f))
		return 0;
	name_memory(f);
	return 1;
}

/* ---- The report ------------------------------------------------------------------------------ */

static void say(struct fault *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct fault *f, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(f->text + f->len, sizeof(f->text) - f->len, fmt, ap);
	va_end(ap);
	if (n > 0)
		f->len = f->len + (size_t)n < sizeof(f->text) ? f->len + (size_t)n : sizeof(f->text) - 1;
}

static void say_bytes(struct fault *f, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		say(f, " %02x", p[i]);
	say(f, "\n");
}

static void say_memory(struct fault *f, const char *what, uint64_t at, size_t n)
{
	uint8_t buf[64];

	say(f, "  %-28s 0x%llx:", what, (unsigned long long)at);
	if (n > sizeof(buf) || proc_read_memory(f->t->pid, at, buf, n))
		say(f, " unreadable\n");
	else
		say_bytes(f, buf, n);
}

static void say_name(struct fault *f, struct uft_object *obj, uint64_t func)
{
	const struct uft_func *fn = uft_object_names(obj, NULL) ? NULL : uft_object_func(obj, func);
	char *name = fn && fn->name ? uft_name_shown(fn->name) : NULL;

	say(f, "  function                     %s\n", name ? name : fn && fn->name ? fn->name : "without a name");
	free(name);
}

static void say_site(struct fault *f)
{
	const struct uft_mapped *m = &f->t->space->img->obj[f->object];
	uint8_t built[16] = { 0 };
	struct place p;

	say(f, "  object                       %s\n", m->obj->path);
	if (!place_of(f, &p))
		return;
	say_name(f, m->obj, p.func);
	say(f, "  site                         0x%llx, %s, %u bytes\n", (unsigned long long)(p.addr + m->bias),
	    p.site ? uft_site_kind_name(p.site->kind) : "unprepared code", p.len);
	uft_object_read(m->obj, p.addr, built, p.len);
	say(f, "  site, as built              ");
	say_bytes(f, built, p.len);
	say_memory(f, "site, as found", p.addr + m->bias, p.len);
	if (f->where == IN_STUB) {
		say(f, "  stub, as made                e8 .. .. .. .. %s .. .. .. .. e9\n",
		    p.site && p.site->is_framed ? "c3" : "e8");
		say_memory(f, "stub, as found", f->stub_at, UFT_STUB_BYTES);
	} else if (f->where == IN_CODE) {
		say_memory(f, "moved code, as found", f->stub_at, 48);
	}
}

static void say_registers(struct fault *f)
{
	const struct user_regs_struct *r = &f->regs;
	const struct { const char *name; unsigned long long value; } all[] = {
		{ "rip", r->rip }, { "rsp", r->rsp }, { "rbp", r->rbp }, { "rax", r->rax }, { "rbx", r->rbx },
		{ "rcx", r->rcx },
		{ "rdx", r->rdx }, { "rsi", r->rsi }, { "rdi", r->rdi }, { "r8", r->r8 }, { "r9", r->r9 },
		{ "r10", r->r10 },
		{ "r11", r->r11 }, { "r12", r->r12 }, { "r13", r->r13 }, { "r14", r->r14 }, { "r15", r->r15 },
		{ "flags", r->eflags },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		say(f, "%s %5s %016llx", i % 3 ? "" : "\n ", all[i].name, all[i].value);
	say(f, "\n");
}

static void report(struct fault *f)
{
	static const char *const where[] = {
		[AT_SITE] = "at a function entry that uft changed", [IN_STUB] = "in a stub of uft",
		[IN_CODE] = "in instructions that uft moved", [IN_BLOB] = "in the runtime of uft",
		[IN_MEMORY] = "in or behind memory of uft",
	};
	const struct blob *b = NULL;
	char comm[64] = "";

	if (proc_read_file(f->tid, "comm", comm, sizeof(comm)) > 0)
		comm[strcspn(comm, "\n")] = '\0';
	say(f, "process %d, thread %d (%s): SIG%s %s\n", f->t->pid, f->tid, comm, sigabbrev_np(f->sig),
	    where[f->where]);
	say(f, "  pc                           0x%llx\n", (unsigned long long)f->regs.rip);
	if (f->where == IN_BLOB && !blob_get(&b))
		say(f, "  offset in the runtime        0x%llx\n",
		    (unsigned long long)(f->regs.rip - (f->t->space->boot - b->boot)));
	if (f->sig != SIGTRAP)
		say(f, "  fault address, code          0x%llx, %d\n", (unsigned long long)(uintptr_t)f->info.si_addr,
		    f->info.si_code);
	if (f->object != NO_STUB)
		say_site(f);
	say_memory(f, "memory at the pc", f->regs.rip & ~15ull, 48);
	say_registers(f);
	say_memory(f, "stack", f->regs.rsp - 16, 64);
}

/* ---- Restoring the program's bytes ------------------------------------------------------------ */

/* Its process cannot have executed another program then: that ends its other tasks first, also those that stand. */
static int still_stands(const struct fault *f)
{
	struct user_regs_struct regs;

	return !task_request(PTRACE_GETREGS, f->tid, 0, &regs);
}

/*
 * The runtime writes nothing over bytes that it does not know. The memory is opened before the task is looked at, so
 * it is that of the program in which the fault was.
 */
static void write_site(struct fault *f)
{
	const struct uft_mapped *m = &f->t->space->img->obj[f->object];
	uint8_t built[16], now[16];
	struct place p;
	int fd;

	if (!place_of(f, &p) || uft_object_read(m->obj, p.addr, built, p.len) < p.len)
		return;
	fd = proc_open_memory(f->t->pid);
	if (fd >= 0 && (!still_stands(f) || pread(fd, now, p.len, (off_t)(p.addr + m->bias)) != (ssize_t)p.len ||
			!memcmp(now, built, p.len))) {
		close(fd);
		return;
	}
	if (fd < 0 || pwrite(fd, built, p.len, (off_t)(p.addr + m->bias)) != (ssize_t)p.len)
		say(f, "  the site could not be written: %s\n", strerror(errno));
	else
		say(f, "  the site was written from the file\n");
	if (fd >= 0)
		close(fd);
}

static void put_back(struct fault *f)
{
	int left = target_restore_code(f->s, f->t);

	if (left < 0)
		say(f, "  not put back: the agent does not answer (%s)\n", strerror(-left));
	else if (left)
		say(f, "  put back: all but %d place%s, which cannot change while threads run\n", left,
		    left == 1 ? "" : "s");
	else
		say(f, "  put back: all function entries, hooks and return addresses of the process\n");
	if (f->where == AT_SITE)
		write_site(f);
}

/* ---- Where the task goes on ------------------------------------------------------------------- */

/* Stack overflow: the program would have got there without us, a little later. */
static int is_overflow(const struct fault *f)
{
	return f->sig == SIGSEGV && (uint64_t)(uintptr_t)f->info.si_addr - (f->regs.rsp - UFT_PAGE) < 2 * UFT_PAGE;
}

/* Computes rip and rsp in the program for a pc in a stub; 0: there is no such place. */
static int fault_leave_stub(struct fault *f, const struct place *p, struct user_regs_struct *r)
{
	const struct uft_mapped *m = &f->t->space->img->obj[f->object];
	const struct uft_site *site = p->site;
	uint64_t offset = r->rip - f->stub_at, word;

	/* The program's own mcount: its call is not undone by leaving it out. */
	if (site && (site->kind == UFT_SITE_OWN_CALL || site->call_name & f->t->space->obj[f->object].own_calls))
		return 0;
	if (site && site->is_framed && offset < 6) {	/* the site called it */
		if (proc_read_memory(f->t->pid, r->rsp, &word, 8))
			return 0;
		r->rip = word;
		r->rsp += 8;
	} else if (offset < 10) {			/* at 5 the handler took the parent off; it is still there */
		r->rip = site ? m->site_addr[f->stub] : p->addr + m->bias;
		r->rsp -= offset < 5 ? 0 : 8;
	} else {
		if (proc_read_memory(f->t->pid, r->rsp - 8, &word, 8) || word - f->stub_at < UFT_STUB_BYTES)
			return 0;
		r->rip = word;
	}
	return 1;
}

/* The instruction that was moved to the pc, or nothing of the function has run yet. */
static int fault_leave_code(struct fault *f, const struct place *p, struct user_regs_struct *r)
{
	const struct uft_mapped *m = &f->t->space->img->obj[f->object];
	uint64_t offset = r->rip - f->stub_at;
	int twin;

	for (unsigned i = 0; p->entry && i < p->entry->nmoved; i++) {
		twin = entry_twin(m->obj, p->entry, i);
		if (twin >= 0 && (uint64_t)twin == offset) {
			r->rip = p->addr + m->bias + i;
			return 1;
		}
	}
	/* the slot, and up to the call of the handler */
	if (!p->entry || offset < UFT_CODE_SLOT || offset > UFT_CODE_CALLED)
		return 0;
	r->rip = p->addr + m->bias;
	return 1;
}

/* Moves the task to a place in the program. */
static int move(struct fault *f)
{
	struct user_regs_struct r = f->regs;
	struct place p;
	int can = f->object != NO_STUB && place_of(f, &p);

	if (f->sig == SIGTRAP)
		r.rip--;
	if (can && f->where == AT_SITE)
		r.rip = p.addr + f->t->space->img->obj[f->object].bias;
	else if (can && f->where == IN_STUB)
		can = fault_leave_stub(f, &p, &r);
	else
		can = can && f->where == IN_CODE && fault_leave_code(f, &p, &r);
	if (!can)
		return 0;
	r.orig_rax = (uint64_t)-1;
	if (task_request(PTRACE_SETREGS, f->tid, 0, &r))
		return 0;
	say(f, "  the pc was moved to 0x%llx\n", (unsigned long long)r.rip);
	return 1;
}

/* A fault in intact moved code is the program's own: its handler must see the program's address. */
static int is_its_own(const struct fault *f)
{
	struct uft_code made;
	uint8_t now[UFT_CODE_MAX];
	struct place p;

	if (f->where != IN_CODE || !place_of(f, &p) || !p.entry || f->regs.rip - f->stub_at >= UFT_CODE_MAX)
		return 0;
	if (entry_code(f->t->space->img->obj[f->object].obj, p.entry, f->t->space->img->obj[f->object].bias, f->stub_at,
		       &made))
		return 0;
	return !proc_read_memory(f->t->pid, f->stub_at, now, made.ncode) && !memcmp(now, made.code, made.ncode);
}

int fault_look(struct uft_session *s, pid_t tid, int sig)
{
	pid_t pid = (pid_t)proc_status_number(tid, "Tgid", 10);
	struct fault f = {
		.s = s, .tid = tid, .sig = sig, .t = target_by_pid(s, pid), .object = NO_STUB, .stub = NO_STUB
	};
	int is_again, is_own;

	if (!f.t || task_request(PTRACE_GETSIGINFO, tid, 0, &f.info) || f.info.si_code <= 0 ||
	    task_request(PTRACE_GETREGS, tid, 0, &f.regs) || !is_ours(&f))
		return sig;
	is_again = s->last_fault.tid == tid && s->last_fault.pc == f.regs.rip;
	s->last_fault.tid = tid;
	s->last_fault.pc = f.regs.rip;
	is_own = is_its_own(&f);
	report(&f);
	put_back(&f);
	if (!is_again && move(&f) && !is_overflow(&f) && !is_own) {
		say(&f, "  the program goes on\n");
		sig = 0;
	} else {
		say(&f, "  the signal is the program's\n");
	}
	if (s->ev.fault)
		s->ev.fault(s->ev.arg, pid, f.text);
	return sig;
}

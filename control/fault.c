// SPDX-License-Identifier: MIT
/*
 * fault.c - the watchdog's judgement: is this fault ours, and what is done about it
 *
 * A task stands before the delivery of SIGSEGV, SIGILL, SIGBUS or SIGTRAP that the kernel raised. Ours is a pc
 *	- at a site that we changed,
 *	- in memory that the runtime has mapped (UFT_CMD_MAPPINGS), or within a page behind it where nothing of the
 *	  program's is.
 * Everything else is the program's own and is delivered untouched, at the price of the look.
 *
 * If it is ours: the report first, while things are as they were; then the agent puts everything back (LEAVE, UNHOOK: it is a task
 * of its own, which nobody has stopped), a site whose bytes it does not know any more is written from the file, and
 * the pc goes to the place in the program that corresponds, where there is one:
 *
 *	at a site	its start
 *	stub + 0	behind the site's instruction (after the prologue: and its return address off the stack)
 *	stub + 5	the same, and the parent's address, which lies just below the stack pointer, back on it
 *	stub + 10	where the call returns to; UNHOOK has put that into the slot just below the stack pointer
 *
 * Then the program goes on without a signal. Without a place to go, if it is a stack overflow, or if it comes again at
 * the same pc, the signal is delivered as it came.
 */
#include "control/watch.h"

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

#define REPORT_BYTES	8192
#define BEHIND		UFT_PAGE	/* so far behind our memory a pc may be our doing */
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

/* ---- Where ---------------------------------------------------------------------------------- */

/* The site whose bytes the pc is in, if a target of the space was told to change it. */
static int find_site(struct fault *f, uint32_t object, uint64_t addr)
{
	const struct uft_object *obj = f->t->space->img->obj[object].obj;
	const uint8_t *sent = f->t->space->obj[object].sent;
	size_t lo = 0, hi = obj->nsite;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (obj->site[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || !sent || addr - obj->site[lo - 1].addr >= obj->site[lo - 1].len || sent[lo - 1] == WANT_NOT)
		return 0;
	f->where = AT_SITE;
	f->object = object;
	f->stub = (uint32_t)(lo - 1);
	return 1;
}

/* 1: a site; 0: in the text of an object, not at a site; -1: in no object. */
static int look_in_objects(struct fault *f)
{
	const struct uft_image *img = f->t->space->img;
	uint64_t pc = f->regs.rip;

	/* An int3 has been executed when it is seen. */
	if (f->sig == SIGTRAP)
		pc--;
	for (uint32_t i = 0; i < img->nobj; i++)
		if (pc >= img->obj[i].text_start && pc < img->obj[i].text_end)
			return find_site(f, i, pc - img->obj[i].bias);
	return -1;
}

static int is_owned(struct fault *f)
{
	struct uft_cmd *c = arena_cmd(&f->s->arena, f->t->slice);
	const struct uft_owned *o = (const struct uft_owned *)((uint8_t *)c + UFT_CMD_PAYLOAD);
	uint32_t n;

	if (command_run(f->s, f->t, UFT_CMD_MAPPINGS))
		return 0;
	n = c->n < MAX_OWNED ? c->n : MAX_OWNED;
	for (uint32_t i = 0; i < n && (uint64_t)(i + 1) * sizeof(*o) <= f->s->arena.map->cmd_bytes - UFT_CMD_PAYLOAD; i++) {
		uint64_t bytes = o[i].bytes & ~(uint64_t)(UFT_PAGE - 1);

		if (f->regs.rip - o[i].at < bytes + BEHIND)
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
	if (!blob_get(&b) && pc - (sp->boot - b->boot) < b->span)
		f->where = IN_BLOB;
}

static int is_ours(struct fault *f)
{
	int at = look_in_objects(f);

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
	if (n > sizeof(buf) || peek_mem(f->t->pid, at, buf, n))
		say(f, " unreadable\n");
	else
		say_bytes(f, buf, n);
}

static void say_site(struct fault *f)
{
	const struct uft_mapped *m = &f->t->space->img->obj[f->object];
	const struct uft_site *site;
	const struct uft_func *func;
	char *name;

	say(f, "  object                       %s\n", m->obj->path);
	if (f->stub == NO_STUB || f->stub >= m->obj->nsite)
		return;
	site = &m->obj->site[f->stub];
	func = uft_object_names(m->obj, NULL) ? NULL : uft_object_func(m->obj, site->func);
	name = func && func->name ? uft_demangle(func->name) : NULL;
	say(f, "  function                     %s\n", name ? name : func && func->name ? func->name : "without a name");
	free(name);
	say(f, "  site                         0x%llx, %s, %u bytes\n", (unsigned long long)(site->addr + m->bias),
	    uft_site_kind_name(site->kind), site->len);
	say(f, "  site, as built              ");
	say_bytes(f, site->bytes, site->len < sizeof(site->bytes) ? site->len : sizeof(site->bytes));
	say_memory(f, "site, as found", site->addr + m->bias, site->len);
	if (f->where == IN_STUB) {
		say(f, "  stub, as made                e8 .. .. .. .. %s .. .. .. .. e9\n", site->is_framed ? "c3" : "e8");
		say_memory(f, "stub, as found", f->stub_at, UFT_STUB_BYTES);
	} else if (f->where == IN_CODE) {
		say_memory(f, "moved code, as found", f->stub_at, 32);
	}
}

static void say_registers(struct fault *f)
{
	const struct user_regs_struct *r = &f->regs;
	const struct { const char *name; unsigned long long value; } all[] = {
		{ "rip", r->rip }, { "rsp", r->rsp }, { "rbp", r->rbp }, { "rax", r->rax }, { "rbx", r->rbx }, { "rcx", r->rcx },
		{ "rdx", r->rdx }, { "rsi", r->rsi }, { "rdi", r->rdi }, { "r8", r->r8 }, { "r9", r->r9 }, { "r10", r->r10 },
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

	if (peek_file(f->tid, "comm", comm, sizeof(comm)) > 0)
		comm[strcspn(comm, "\n")] = '\0';
	say(f, "process %d, thread %d (%s): SIG%s %s\n", f->t->pid, f->tid, comm, sigabbrev_np(f->sig), where[f->where]);
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

/* ---- Putting back ----------------------------------------------------------------------------- */

/* The runtime writes nothing over bytes that it does not know. */
static void write_site(struct fault *f)
{
	const struct uft_mapped *m = &f->t->space->img->obj[f->object];
	const struct uft_site *site = &m->obj->site[f->stub];
	size_t len = site->len < sizeof(site->bytes) ? site->len : sizeof(site->bytes);
	uint8_t now[sizeof(site->bytes)];
	uint64_t at = site->addr + m->bias;
	char path[64];
	int fd;

	if (peek_mem(f->t->pid, at, now, len) || !memcmp(now, site->bytes, len))
		return;
	snprintf(path, sizeof(path), "/proc/%d/mem", f->t->pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || pwrite(fd, site->bytes, len, (off_t)at) != (ssize_t)len)
		say(f, "  the site could not be written: %s\n", strerror(errno));
	else
		say(f, "  the site was written from the file\n");
	if (fd >= 0)
		close(fd);
}

static void put_back(struct fault *f)
{
	struct target *t = f->t;
	int left = 0;

	if (!t->has_faulted) {
		left = command_run(f->s, t, UFT_CMD_LEAVE);
		t->has_faulted = 1;
	}
	if (left >= 0)
		left += command_run(f->s, t, UFT_CMD_UNHOOK) < 0;
	if (left < 0)
		say(f, "  not put back: the agent does not answer (%s)\n", strerror(-left));
	else if (left)
		say(f, "  put back: all but %d places, which cannot change while threads run\n", left);
	else
		say(f, "  put back: all function entries, hooks and return addresses of the process\n");
	if (f->where == AT_SITE)
		write_site(f);
}

/* ---- Where to go on --------------------------------------------------------------------------- */

/* The stack's end was reached: the program would have come there without us, a little later. */
static int is_overflow(const struct fault *f)
{
	return f->sig == SIGSEGV && (uint64_t)(uintptr_t)f->info.si_addr - (f->regs.rsp - UFT_PAGE) < 2 * UFT_PAGE;
}

/* New rip and rsp for a pc in a stub; 0: there is no place for it. */
static int leave_stub(struct fault *f, struct user_regs_struct *r)
{
	const struct uft_mapped *m = &f->t->space->img->obj[f->object];
	const struct uft_site *site = f->stub < m->obj->nsite ? &m->obj->site[f->stub] : NULL;
	uint64_t offset = r->rip - f->stub_at, word;

	/* The program's own mcount: its call is not undone by leaving it out. */
	if (!site || site->kind == UFT_SITE_OWN_CALL || site->call_name & f->t->space->obj[f->object].own_calls)
		return 0;
	if (site->is_framed && offset < 6) {		/* the site called it */
		if (peek_mem(f->t->pid, r->rsp, &word, 8))
			return 0;
		r->rip = word;
		r->rsp += 8;
	} else if (offset < 5) {
		r->rip = m->site_addr[f->stub];
	} else if (offset < 10) {			/* the handler took the parent off; it is still there */
		r->rip = m->site_addr[f->stub];
		r->rsp -= 8;
	} else {
		if (peek_mem(f->t->pid, r->rsp - 8, &word, 8) || word - f->stub_at < UFT_STUB_BYTES)
			return 0;
		r->rip = word;
	}
	return 1;
}

/* The registers are those of a place in the program now. */
static int move(struct fault *f)
{
	const struct uft_mapped *m = f->object == NO_STUB ? NULL : &f->t->space->img->obj[f->object];
	struct user_regs_struct r = f->regs;

	if (f->sig == SIGTRAP)
		r.rip--;
	if (f->where == AT_SITE)
		r.rip = m->obj->site[f->stub].addr + m->bias;
	else if (f->where != IN_STUB || !leave_stub(f, &r))
		return 0;
	r.orig_rax = (uint64_t)-1;
	if (ptrace(PTRACE_SETREGS, f->tid, 0, &r) < 0)
		return 0;
	say(f, "  the pc was moved to 0x%llx\n", (unsigned long long)r.rip);
	return 1;
}

int fault_look(struct uft_session *s, pid_t tid, int sig)
{
	static struct { pid_t tid; uint64_t pc; } last;		/* of the session's only thread */
	static struct fault f;
	pid_t pid = (pid_t)peek_status(tid, "Tgid", 10);
	int is_again;

	f = (struct fault){ .s = s, .tid = tid, .sig = sig, .t = target_by_pid(s, pid), .object = NO_STUB, .stub = NO_STUB };
	if (!f.t || ptrace(PTRACE_GETSIGINFO, tid, 0, &f.info) < 0 || f.info.si_code <= 0 ||
	    ptrace(PTRACE_GETREGS, tid, 0, &f.regs) < 0 || !is_ours(&f))
		return sig;
	is_again = last.tid == tid && last.pc == f.regs.rip;
	last.tid = tid;
	last.pc = f.regs.rip;
	report(&f);
	put_back(&f);
	if (!is_again && move(&f) && !is_overflow(&f)) {
		say(&f, "  the program goes on\n");
		sig = 0;
	} else {
		say(&f, "  the signal is the program's\n");
	}
	if (s->ev.fault)
		s->ev.fault(s->ev.arg, pid, f.text);
	return sig;
}

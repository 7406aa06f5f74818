/* SPDX-License-Identifier: MIT */
/*
 * user_events.c - user_events_data, user_events_status: events that programs describe and write themselves, as in the
 * kernel's Documentation/trace/user_events.rst
 *
 * An event lives while a program has registered it (a file of user_events_data refers to it); its type stays in the
 * table and is found again by the same name and fields. A file numbers its events in the order of its registrations:
 * write_index. A written event is recorded at once, as a marker is, in each instance that has enabled the event, and
 * triggers look at it: no agent in the program is needed. A trigger enables the event, as in the kernel.
 *
 * An enabler is a bit in a program's memory that tells whether an instance has enabled the event. The kernel changes
 * the bit atomically. Here the word is read and written, so the program must not change other bits of it at that
 * moment. An exec or exit removes a program's enablers. A fork child has none before it registers.
 *
 * An enabler is written through /proc/TID/mem of the registering task, opened while the kernel keeps the task in its
 * ioctl. The descriptor stays with that memory, whatever the process does later; once no process has the memory, a
 * write does nothing. So no check of a process decides where a bit is written. One descriptor serves all enablers of a
 * memory: share_program().
 *
 * FUSE passes the first 8 bytes of an ioctl's structure, because the ioctl's number has the size of a pointer; the rest
 * is read from the program's memory. Context: the owner.
 */
#include "control/proc/proc.h"
#include "symbol/array.h"
#include "tree/files/rows.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYSTEM		"user_events"
#define MAX_DESCRIPTION	512u		/* bytes of name and fields, the 0 byte included */
#define MAX_ARRAY	1024u
#define MAX_FORMATS	256u		/* of one name */
#define PROCESS_WORDS	4096u
#define DIAG_IOCSREG	_IOWR('*', 0, void *)
#define DIAG_IOCSDEL	_IOW('*', 1, void *)
#define DIAG_IOCSUNREG	_IOW('*', 2, void *)
enum reg_flags { REG_PERSIST = 1, REG_MULTI_FORMAT = 2 };

/* The ABI of ioctls, packed. */
struct user_reg {
	uint32_t size;
	uint8_t enable_bit, enable_size;
	uint16_t flags;
	uint64_t enable_addr, name_args;
	uint32_t write_index;
} __attribute__((packed));
struct user_unreg {
	uint32_t size;
	uint8_t disable_bit, reserved;
	uint16_t reserved2;
	uint64_t disable_addr;
} __attribute__((packed));

/* Counted for each user, and for all. */
enum bound { WORDS, PROGRAMS, TYPES, FORMAT_BYTES, REFERENCES, NBOUNDS };
struct share {
	struct share *next;
	uid_t uid;
	uint32_t n[NBOUNDS];
};

struct user_event {
	struct user_event *next;
	const struct uft_event_type *type;
	char *name, *fields;		/* as they were written, but for blanks: split() */
	uint32_t bytes;			/* of its fixed fields */
	uint32_t refs, nenablers;	/* files that have it */
	int is_on, was_on;		/* as its enablers say, and said before */
	int is_multi;
};

struct program {			/* memory in which something is registered */
	struct program *next;
	pid_t pid;
	uint64_t began;			/* its process: clock ticks since boot */
	int mem;
	uint64_t random_at;		/* where it has random bytes that no other memory has; 0: nowhere */
	uint32_t refs;			/* its enablers */
	struct share *share;
};

struct enabler {
	struct enabler *next;
	struct user_event *event;
	struct program *program;
	uint64_t addr;
	uint8_t bit, size;
};

struct user_events {
	struct user_event *events;
	struct enabler *enablers;
	struct program *programs;
	struct share *shares;
	uint32_t n[NBOUNDS];		/* of all shares */
	uint64_t refused;
};

struct registrations { struct user_event **v; uint32_t n; struct share *share; };

/* ---- Bounds ---------------------------------------------------------------------------------- */

static uint32_t bound_of(enum bound b)
{
	struct rlimit files = { .rlim_cur = 0 };

	if (b == WORDS)
		return 16384;
	if (b == TYPES)
		return 32768;		/* also types of removed events: the table keeps them */
	if (b == FORMAT_BYTES)
		return 32u << 20;
	if (b == REFERENCES)
		return 262144;
	getrlimit(RLIMIT_NOFILE, &files);
	return files.rlim_cur / 2 < 4096 ? (uint32_t)files.rlim_cur / 2 : 4096;
}

/* Our user can use all remaining room, another user half of the room that the others leave. */
static int is_full(const struct user_events *all, const struct share *s, enum bound b, size_t more)
{
	uint32_t others = all->n[b] - s->n[b], bound = bound_of(b), left = bound > others ? bound - others : 0;

	return s->n[b] + more > (s->uid == geteuid() ? left : left / 2); /* GUARD(user_event_share) */
}

static void count(struct user_events *all, struct share *s, enum bound b, long by)
{
	s->n[b] += (uint32_t)by;
	all->n[b] += (uint32_t)by;
}

/* NULL: no memory is left. */
static struct share *share_of(struct user_events *all, uid_t uid)
{
	struct share *s = all->shares;

	while (s && s->uid != uid)
		s = s->next;
	if (s || !(s = calloc(1, sizeof(*s))))
		return s;
	*s = (struct share){ .next = all->shares, .uid = uid };
	all->shares = s;
	return s;
}

/* @error, as the kernel has it. */
static int refuse(struct uft_tree *t, int error, const char *what)
{
	char text[256];

	if (!t->user_events->refused++ && t->opts.warning) {
		snprintf(text, sizeof(text), "user_events: a program registers more %s than it may; user_events_status "
			 "counts what is refused", what);
		t->opts.warning(t->opts.arg, text);
	}
	return error;
}

/* ---- A program's memory ---------------------------------------------------------------------- */

static int read_memory(int mem, uint64_t addr, void *p, size_t n)
{
	return pread(mem, p, n, (off_t)addr) == (ssize_t)n ? 0 : -EFAULT;
}

static int write_memory(int mem, uint64_t addr, const void *p, size_t n)
{
	return pwrite(mem, p, n, (off_t)addr) == (ssize_t)n ? 0 : -EFAULT;
}

/* Reads a terminated text. A short read is no error: the memory may end right after the text. */
static int read_text(int mem, uint64_t addr, char *text, size_t size)
{
	ssize_t n = pread(mem, text, size, (off_t)addr);

	if (n <= 0)
		return -EFAULT;
	return memchr(text, 0, (size_t)n) ? 0 : (size_t)n < size ? -EFAULT : -EINVAL;
}

static int write_bit(int mem, uint64_t addr, int bit, int size, int is_on)
{
	uint64_t word = 0;
	int ret = read_memory(mem, addr, &word, (size_t)size);

	word = is_on ? word | 1ull << bit : word & ~(1ull << bit);
	return ret ? ret : write_memory(mem, addr, &word, (size_t)size);
}

/* Does a process still use the memory? A read returns 0 bytes if none does, and an error at an unmapped address. */
static int is_used(int mem)
{
	char c;

	return pread(mem, &c, 1, 0) != 0;
}

/* ---- Programs -------------------------------------------------------------------------------- */

/* A task in its ioctl: its process, its memory. */
struct caller { pid_t pid; uint64_t began; int mem; struct share *share; };

/* The address of the task's AT_RANDOM bytes; 0: it cannot be read. */
static uint64_t random_of(pid_t tid)
{
	uint8_t raw[UFT_AUXV_MAX];
	struct auxv auxv;
	size_t bytes;

	return auxv_read(tid, raw, &bytes, &auxv) ? 0 : auxv.random;
}

static int open_caller(const struct uft_handle *h, struct caller *c)
{
	struct stat st;
	char path[32];

	/* has the task's effective user as owner, also if the task is not dumpable */
	snprintf(path, sizeof(path), "/proc/%d", h->pid);
	if (stat(path, &st))
		return -ESRCH;
	*c = (struct caller){ h->tgid, proc_start_ticks(h->tgid), proc_open_memory(h->pid),
		share_of(h->t->user_events, st.st_uid) };
	if (c->mem < 0)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : -EFAULT;
	if (c->share)
		return 0;
	close(c->mem);
	return -ENOMEM;
}

static int is_of(const struct program *p, const struct caller *c)
{
	return p->pid == c->pid && p->began == c->began && is_used(p->mem);
}

/*
 * Returns 1 if the process and its random bytes are the same: a process that executed another program has other bytes,
 * and its former memory may still exist in a process that shared it (vfork). The address is that of the first caller.
 */
static int is_same_memory(const struct program *p, const struct caller *c)
{
	uint8_t a[16], b[16];

	return is_of(p, c) && p->random_at && !read_memory(p->mem, p->random_at, a, sizeof(a)) &&
	       !read_memory(c->mem, p->random_at, b, sizeof(b)) &&
	       !memcmp(a, b, sizeof(a)) /* GUARD(user_event_memory) */;
}

static struct program *find_program(const struct user_events *all, const struct caller *c)
{
	struct program *p = all->programs;

	while (p && !is_same_memory(p, c))
		p = p->next;
	return p;
}

/* The caller's memory, with a descriptor of it. NULL: out of memory. */
static struct program *share_program(struct user_events *all, const struct uft_handle *h, struct caller *c)
{
	struct program *p = find_program(all, c);

	if (p || !(p = calloc(1, sizeof(*p))))
		return p;
	*p = (struct program){ all->programs, c->pid, c->began, c->mem, random_of(h->pid), 0, c->share };
	count(all, c->share, PROGRAMS, 1);
	c->mem = -1;
	all->programs = p;
	return p;
}

static void put_program(struct user_events *all, struct program *p)
{
	struct program **at = &all->programs;

	if (--p->refs)
		return;
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	count(all, p->share, PROGRAMS, -1);
	close(p->mem);
	free(p);
}

/* ---- Enabled or not -------------------------------------------------------------------------- */

static int is_wanted(const struct uft_tree *t, const struct user_event *e)
{
	for (const struct instance *in = t->instances; in; in = in->next)
		if (uft_event_set_has(&in->set.events, e->type->index) || trigger_switches(in, e->type->index) ||
		    trigger_wants_event(in, e->type->index) /* GUARD(user_event_trigger) */)
			return 1;
	return 0;
}

static struct enabler **drop_enabler(struct user_events *all, struct enabler **p)
{
	struct enabler *gone = *p;

	*p = gone->next;
	gone->event->nenablers--;
	count(all, gone->program->share, WORDS, -1);
	put_program(all, gone->program);
	free(gone);
	return p;
}

void user_events_switch(struct uft_tree *t)
{
	struct user_events *all = t->user_events;
	int has_changed = 0;

	for (struct user_event *e = all ? all->events : NULL; e; e = e->next) {
		e->was_on = e->is_on;
		e->is_on = is_wanted(t, e);
		has_changed |= e->is_on != e->was_on;
	}
	for (struct enabler **p = has_changed ? &all->enablers : NULL; p && *p;) {
		struct enabler *x = *p;
		const struct user_event *e = x->event;
		int is_lost = e->is_on != e->was_on && write_bit(x->program->mem, x->addr, x->bit, x->size, e->is_on);

		p = is_lost ? drop_enabler(all, p) : &x->next;
	}
}

/* ---- Descriptions ---------------------------------------------------------------------------- */

static int array_bytes(const char *type)
{
	const char *p = strchr(type, '[');
	char *end;
	unsigned long n;

	if (!p || !isdigit((unsigned char)p[1]))
		return -EINVAL;
	n = strtoul(p + 1, &end, 0);
	return strcmp(end, "]") || n > MAX_ARRAY ? -EINVAL : (int)n;
}

static int starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Bytes and printf conversion of a type, as the kernel knows them; `long` is none of them, since its size differs. */
static int type_bytes(const char *type, const char **conversion)
{
	static const struct { const char *name; int bytes; const char *conversion; } known[] = {
		{ "s64", 8, "%lld" }, { "u64", 8, "%llu" }, { "s32", 4, "%d" }, { "u32", 4, "%u" }, { "int", 4, "%d" },
		{ "unsigned int", 4, "%u" },
		{ "s16", 2, "%d" }, { "u16", 2, "%u" }, { "short", 2, "%d" }, { "unsigned short", 2, "%u" },
		{ "s8", 1, "%d" }, { "u8", 1, "%u" },
		{ "char", 1, "%d" }, { "unsigned char", 1, "%u" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(type, known[i].name)) {
			*conversion = known[i].conversion;
			return known[i].bytes;
		}
	*conversion = "%s";
	if (starts(type, "char[") || starts(type, "unsigned char["))
		return array_bytes(type);
	if (starts(type, "__data_loc ") || starts(type, "__rel_loc ")) {
		*conversion = strstr(type, "char[") ? "%s" : "%llu";
		return 4;
	}
	return -EINVAL;
}

struct description { struct tree_text fields, head, args; uint32_t bytes; };

/* `TYPE NAME`, and of a struct its SIZE. */
static int add_field(struct description *d, char *field)
{
	static const char *const two[] = { "unsigned ", "struct ", "__data_loc unsigned ", "__data_loc ",
		"__rel_loc unsigned ", "__rel_loc " };
	char *type = field + strspn(field, " "), *name, *size, *bracket;
	int is_struct = starts(type, "struct "), bytes, nbase;
	const char *conversion = "%llu";
	size_t head = 0;

	if (!*type)
		return 0;
	for (size_t i = 0; i < sizeof(two) / sizeof(two[0]) && !head; i++)
		head = starts(type, two[i]) ? strlen(two[i]) : 0;
	name = strchr(type + head, ' ');
	if (!name)
		return -EINVAL;
	*name++ = '\0';
	size = strchr(name, ' ');
	if (size)
		*size++ = '\0';
	if (!*name || (size && (!is_struct || !*size || size[strspn(size, "0123456789")])))
		return -EINVAL;
	bytes = size ? atoi(size) : type_bytes(type, &conversion);
	if (bytes <= 0 || bytes > (int)UFT_EVENT_PAYLOAD_MAX || d->bytes + (uint32_t)bytes > UFT_EVENT_PAYLOAD_MAX)
		return -EINVAL;
	bracket = starts(type, "__") ? NULL : strchr(type, '[');
	nbase = bracket ? (int)(bracket - type) : (int)strlen(type);
	text_printf(&d->fields, "\tfield:%.*s %s%s;\toffset:%u;\tsize:%d;\tsigned:%d;\n", nbase, type, name,
		    bracket ? bracket : "", UFT_EVENT_COMMON + d->bytes, bytes, type[0] != 'u');
	text_printf(&d->head, "%s%s=%s", d->head.n ? " " : "", name, conversion);
	if (starts(type, "__"))
		text_printf(&d->args, ", __get_%s%s(%s)", starts(type, "__rel") ? "rel_" : "",
			    strstr(type, "char[") ? "str" : "dynamic_array", name);
	else
		text_printf(&d->args, ", REC->%s", name);
	d->bytes += (uint32_t)bytes;
	return 0;
}

/* The text of a `format` file; malloc'd, NULL: *ret. */
static char *make_format(const char *name, const char *fields, uint32_t *bytes, int *ret)
{
	struct description d = { 0 };
	char *copy = strdup(fields), *rest = copy, *text = NULL;

	*ret = copy ? 0 : -ENOMEM;
	for (char *field; !*ret && rest && (field = strsep(&rest, ";"));)
		*ret = add_field(&d, field);
	text_put(&d.fields, "", 1);
	text_put(&d.head, "", 1);
	text_put(&d.args, "", 1);
	if (!*ret && (d.fields.error || d.head.error || d.args.error ||
		      asprintf(&text,
			       "name: %s\nID: 0\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
			       "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
			       "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
			       "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n%s\nprint fmt: \"%s\"%s\n",
				       name, d.fields.p, d.head.p, d.args.p) < 0))
		*ret = -ENOMEM;
	*bytes = d.bytes;
	free(d.fields.p);
	free(d.head.p);
	free(d.args.p);
	free(copy);
	return *ret ? NULL : text;
}

/* ---- Events ---------------------------------------------------------------------------------- */

static struct user_event *find_event(const struct user_events *all, const char *name, const char *fields, int is_multi)
{
	for (struct user_event *e = all->events; e; e = e->next)
		if (!strcmp(e->name, name) && e->is_multi == is_multi && (!is_multi || !strcmp(e->fields, fields)))
			return e;
	return NULL;
}

static void free_event(struct user_event *e)
{
	free(e->name);
	free(e->fields);
	free(e);
}

/* Adds a type, unless there is one of this name, which costs no room. */
static int add_type(struct uft_tree *t, struct share *s, const char *system, const char *name, const char *format,
		    const struct uft_event_type **out)
{
	struct uft_event_table *types = tree_types(t);
	uint32_t before = uft_event_table_count(types);
	struct uft_error err = { "" };
	int ret;

	if ((is_full(t->user_events, s, TYPES, 1) || is_full(t->user_events, s, FORMAT_BYTES, strlen(format))) &&
	    !uft_event_table_find(types, system, strlen(system), name, strlen(name)))
		return refuse(t, -EMFILE, "events");
	ret = uft_event_table_add(types, UFT_OWNER_OURS, system, format, out, &err);
	if (uft_event_table_count(types) > before) {
		count(t->user_events, s, TYPES, 1);
		count(t->user_events, s, FORMAT_BYTES, (long)strlen(format));
	}
	return ret;
}

/* Multi-format events have a system of their own and names NAME_0xN, where the kernel has NAME.N. */
static int make_type(struct uft_tree *t, struct share *s, struct user_event *e)
{
	const char *system = e->is_multi ? SYSTEM "_multi" : SYSTEM;
	char *format, *name = NULL;
	int ret = 0;

	for (uint32_t k = 0; !ret; k++) {
		if (k == MAX_FORMATS)
			return refuse(t, -EMFILE, "formats of one name");
		if ((e->is_multi ? asprintf(&name, "%s_0x%x", e->name, k) : asprintf(&name, "%s", e->name)) < 0)
			return -ENOMEM;
		format = make_format(name, e->fields, &e->bytes, &ret);
		if (!ret)
			ret = add_type(t, s, system, name, format, &e->type);
		free(name);
		free(format);
		if (ret == 0)
			return 0;
		if (ret != -EEXIST || !e->is_multi)
			break;
		ret = 0;
	}
	return ret == -EEXIST ? -EADDRINUSE : ret;
}

static int make_event(struct uft_tree *t, struct share *s, const char *name, const char *fields, int is_multi,
		      struct user_event **out)
{
	struct user_event *e = calloc(1, sizeof(*e));
	int ret = -ENOMEM;

	if (e) {
		e->is_multi = is_multi;
		e->name = strdup(name);
		e->fields = strdup(fields);
		ret = e->name && e->fields ? make_type(t, s, e) : -ENOMEM;
	}
	if (ret) {
		if (e)
			free_event(e);
		return ret;
	}
	e->next = t->user_events->events;
	t->user_events->events = e;
	*out = e;
	return 0;
}

/* `NAME[ FIELD;FIELD ...]` without blanks in a row or beside a `;`. The name's end in *fields. */
static int split(char *text, char **fields)
{
	char *to = text;

	for (char *from = text + strspn(text, " "); *from; from++) {
		if (*from == ';' && to > text && to[-1] == ' ')
			to--;
		if (*from != ' ' || (to > text && to[-1] != ' ' && to[-1] != ';'))
			*to++ = *from;
	}
	while (to > text && (to[-1] == ' ' || to[-1] == ';' || to[-1] == '\n'))
		to--;
	*to = '\0';
	*fields = text + strcspn(text, " ");
	if (**fields)
		*(*fields)++ = '\0';
	return *text ? 0 : -EINVAL;
}

static int get_event(struct uft_tree *t, struct share *s, char *text, int is_multi, struct user_event **out)
{
	char *fields;
	int ret = split(text, &fields);

	if (ret)
		return ret;
	*out = find_event(t->user_events, text, fields, is_multi);
	if (*out)
		return !strcmp((*out)->fields, fields) ? 0 : -EADDRINUSE;
	return make_event(t, s, text, fields, is_multi, out);
}

/* The last file was closed: removes the event; its type stays. */
static void put_event(struct uft_tree *t, struct user_event *e)
{
	struct user_event **p = &t->user_events->events;

	if (--e->refs)
		return;
	for (struct enabler **x = &t->user_events->enablers; e->nenablers;)
		x = (*x)->event == e ? drop_enabler(t->user_events, x) : &(*x)->next;
	while (*p != e)
		p = &(*p)->next;
	*p = e->next;
	free_event(e);
}

/* ---- user_events_data ------------------------------------------------------------------------ */

int open_user_events(struct uft_handle *h)
{
	if (!h->t->user_events)
		h->t->user_events = calloc(1, sizeof(*h->t->user_events));
	h->priv = h->t->user_events ? calloc(1, sizeof(struct registrations)) : NULL;
	return h->priv ? 0 : -ENOMEM;
}

int release_user_events(struct uft_handle *h)
{
	struct registrations *r = h->priv;

	while (r->n) {		/* the list begins with the youngest */
		put_event(h->t, r->v[--r->n]);
		count(h->t->user_events, r->share, REFERENCES, -1);
	}
	free(r->v);
	free(r);
	return 0;
}

/* The event's number in this file. A file counts for the user that was the first to register something in it. */
static int refer(struct uft_handle *h, struct share *s, struct user_event *e)
{
	struct registrations *r = h->priv;
	for (uint32_t i = 0; i < r->n; i++)
		if (r->v[i] == e)
			return (int)i;
	r->share = r->share ? r->share : s;
	if (is_full(h->t->user_events, r->share, REFERENCES, 1))
		return refuse(h->t, -ENOMEM, "events in open files");
	if (array_resize(r->v, r->n + 1))
		return -ENOMEM;
	r->v[r->n] = e;
	e->refs++;
	count(h->t->user_events, r->share, REFERENCES, 1);
	return (int)r->n++;
}

static struct enabler **find_enabler(struct user_events *all, const struct caller *c, uint64_t addr, int bit)
{
	struct enabler **p = &all->enablers;

	while (*p && ((*p)->addr != addr || (*p)->bit != bit || !is_of((*p)->program, c)))
		p = &(*p)->next;
	return p;
}

static void drop_unused(struct user_events *all)
{
	for (struct enabler **p = &all->enablers; *p;)
		p = is_used((*p)->program->mem) ? &(*p)->next : drop_enabler(all, p);
}

/* Checks that the caller may have another enabler. 0, or the negative errno of a kernel without memory for it. */
static int check_room(struct uft_tree *t, const struct caller *c)
{
	for (int i = 0; i < 2; i++) {
		const struct program *p = find_program(t->user_events, c);

		if ((p ? p->refs < PROCESS_WORDS : !is_full(t->user_events, c->share, PROGRAMS, 1)) &&
		    !is_full(t->user_events, c->share, WORDS, 1) /* GUARD(user_event_words) */)
			return 0;
		if (!i)
			drop_unused(t->user_events);
	}
	return refuse(t, -ENOMEM, "words");
}

static int add_enabler(struct uft_handle *h, struct caller *c, const struct user_reg *reg, struct user_event *e)
{
	struct user_events *all = h->t->user_events;
	struct enabler *made;
	int ret = check_room(h->t, c);

	if (ret)
		return ret;
	e->is_on = is_wanted(h->t, e);
	if (write_bit(c->mem, reg->enable_addr, reg->enable_bit, reg->enable_size, e->is_on))
		return -EFAULT;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	*made = (struct enabler){
		all->enablers, e, share_program(all, h, c), reg->enable_addr, reg->enable_bit, reg->enable_size
	};
	if (!made->program) {
		free(made);
		return -ENOMEM;
	}
	made->program->refs++;
	e->nenablers++;
	count(all, made->program->share, WORDS, 1);
	all->enablers = made;
	return 0;
}

/* Checks the head and addresses of a structure as the kernel does, in its order. */
static int check_reg(const struct user_reg *reg)
{
	if (reg->size > 4096)
		return -E2BIG;
	if (reg->size < sizeof(*reg))
		return -EINVAL;
	if (reg->flags & ~(REG_PERSIST | REG_MULTI_FORMAT))
		return -EINVAL;
	if (reg->flags & REG_PERSIST)
		return -EPERM;		/* the kernel requires CAP_PERFMON; here no event outlives its programs */
	if ((reg->enable_size != 4 && reg->enable_size != 8) || reg->enable_addr % reg->enable_size ||
	    reg->enable_bit >= 8 * reg->enable_size)
		return -EINVAL;
	return 0;
}

static int ioctl_reg(struct uft_handle *h, struct caller *c, uint64_t arg)
{
	struct user_reg reg = { 0 };
	char text[MAX_DESCRIPTION];
	struct user_event *e = NULL;
	uint32_t number;
	int ret = read_memory(c->mem, arg, &reg, sizeof(reg)), index = 0;

	ret = ret ? ret : check_reg(&reg);
	if (ret)
		return ret;
	if (*find_enabler(h->t->user_events, c, reg.enable_addr, reg.enable_bit))
		return -EADDRINUSE;
	ret = read_text(c->mem, reg.name_args, text, sizeof(text));
	ret = ret ? ret : get_event(h->t, c->share, text, (reg.flags & REG_MULTI_FORMAT) != 0, &e);
	if (ret)
		return ret;
	index = refer(h, c->share, e);
	number = (uint32_t)index;
	ret = index < 0 ? index :
		write_memory(c->mem, arg + offsetof(struct user_reg, write_index), &number, sizeof(number));
	ret = ret ? ret : add_enabler(h, c, &reg, e);
	if (index < 0 && !e->refs) {
		e->refs = 1;
		put_event(h->t, e);
	}
	return ret;
}

static int ioctl_unreg(struct uft_handle *h, struct caller *c, uint64_t arg)
{
	struct user_unreg un;
	struct enabler **p;

	if (read_memory(c->mem, arg, &un, sizeof(un)))
		return -EFAULT;
	if (un.size > 4096)
		return -E2BIG;
	if (un.size < sizeof(un) || un.reserved || un.reserved2)
		return -EINVAL;
	p = find_enabler(h->t->user_events, c, un.disable_addr, un.disable_bit);
	if (!*p)
		return -ENOENT;
	write_bit((*p)->program->mem, un.disable_addr, (*p)->bit, (*p)->size, 0);
	drop_enabler(h->t->user_events, p);
	return 0;
}

/* An existing event belongs to a file, so it is busy: the close of its last file removes it. */
static int ioctl_del(struct uft_handle *h, struct caller *c, uint64_t arg)
{
	char text[MAX_DESCRIPTION], *fields;
	int ret = read_text(c->mem, arg, text, sizeof(text));

	ret = ret ? ret : split(text, &fields);
	return ret ? ret : find_event(h->t->user_events, text, "", 0) ? -EBUSY : -ENOENT;
}

int ioctl_user_events(struct uft_handle *h, unsigned cmd, uint64_t arg)
{
	struct caller c;
	int ret;

	if (cmd != DIAG_IOCSREG && cmd != DIAG_IOCSDEL && cmd != DIAG_IOCSUNREG)
		return -ENOTTY;
	ret = open_caller(h, &c);
	if (ret)
		return ret;
	ret = cmd == DIAG_IOCSREG ? ioctl_reg(h, &c, arg) : cmd == DIAG_IOCSDEL ? ioctl_del(h, &c, arg) :
		ioctl_unreg(h, &c, arg);
	if (c.mem >= 0)
		close(c.mem);
	return ret;
}

/* Are dynamic texts inside the record, and terminated? The kernel's validators check the same. */
static int are_texts_whole(const struct user_event *e, const uint8_t *p, size_t n)
{
	for (uint32_t i = 0; i < e->type->nfields; i++) {
		const struct uft_event_field *f = &e->type->field[i];
		uint32_t at = f->offset - UFT_EVENT_COMMON, loc;
		uint64_t from;

		if (f->place == UFT_FIELD_FIXED)
			continue;
		memcpy(&loc, p + at, 4);
		from = f->place == UFT_FIELD_REL_LOC ? at + 4 +
			(loc & 0xffff) : (loc & 0xffff) - (uint64_t)UFT_EVENT_COMMON;
		if (from > n || loc >> 16 > n - from || (f->is_string && (!(loc >> 16) || p[from + (loc >> 16) - 1])))
			return 0;
	}
	return 1;
}

/* The number of an event in this file, and its record behind the common fields. */
ssize_t store_user_events(struct uft_handle *h, const char *p, size_t n)
{
	const struct registrations *r = h->priv;
	const struct user_event *e;
	uint32_t number;

	if (n < sizeof(number))
		return -EFAULT;
	memcpy(&number, p, sizeof(number));
	e = number < r->n ? r->v[number] : NULL;
	if ((int32_t)number < 0)
		return -EINVAL;
	if (!e)
		return -ENOENT;
	if (n - 4 < e->bytes)
		return -EINVAL;
	if (!is_wanted(h->t, e))
		return -EBADF;
	if (!are_texts_whole(e, (const uint8_t *)p + 4, n - 4))
		return -EFAULT;
	if (n - 4 > UFT_EVENT_PAYLOAD_MAX)
		return -E2BIG;
	event_write(h, e->type, p + 4, n - 4);
	return (ssize_t)n;
}

int show_user_events_status(const struct place *at, struct tree_text *out)
{
	const struct user_events *all = at->t->user_events;
	uint32_t n = 0, busy = 0;

	for (const struct user_event *e = all ? all->events : NULL; e; e = e->next) {
		int is_on = is_wanted(at->t, e);

		text_printf(out, "%s%s\n", e->type->name, is_on ? " # Used by ftrace" : "");
		n++;
		busy += (uint32_t)is_on;
	}
	text_printf(out, "\nActive: %u\nBusy: %u\n", n, busy);
	if (all && all->refused)
		text_printf(out, "Refused: %llu\n", (unsigned long long)all->refused);
	return 0;
}

void user_events_free(struct uft_tree *t)
{
	struct user_events *all = t->user_events;

	while (all && all->enablers)
		drop_enabler(all, &all->enablers);
	while (all && all->events) {
		struct user_event *next = all->events->next;

		free_event(all->events);
		all->events = next;
	}
	while (all && all->shares) {
		struct share *next = all->shares->next;

		free(all->shares);
		all->shares = next;
	}
	free(all);
	t->user_events = NULL;
}

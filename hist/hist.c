/* SPDX-License-Identifier: MIT */
/*
 * hist.c - make and free histograms, and update them by events
 *
 * An update makes the key of the event, looks up the variables of other histograms for that key, finds or makes the
 * element, adds the values, stores the variables, and runs the actions if all references have a value.
 *
 * The words of an element: the key; a word with a bit for each variable that is set; the variables, and their texts;
 * the thread's name, for .execname; the sums, hitcount first.
 */
#include "hist/hist_internal.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

#define LABEL_BYTES	(64u << 10)

struct uft_hist_set *uft_hist_set_new(const struct uft_hist_env *env)
{
	struct uft_hist_set *set = calloc(1, sizeof(*set));

	if (set)
		set->env = *env;
	return set;
}

struct uft_hist_env *uft_hist_set_env(struct uft_hist_set *set)
{
	return &set->env;
}

void uft_hist_set_free(struct uft_hist_set *set)
{
	free(set);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void free_table(struct hist_table *t)
{
	if (!t || --t->refs)
		return;
	for (uint32_t i = 0; t->label && i < 1u << t->map.bits; i++)
		free(t->label[i]);
	free(t->label);
	if (t->map.memory)
		munmap(t->map.memory, t->bytes);
	free(t);
}

static int needs_labels(const struct uft_hist *h)
{
	for (uint32_t i = h->nvals; i < h->nvals + h->nkeys; i++)
		if (h->field[i]->flags & (F_SYM | F_SYM_OFFSET | F_STACK))
			return 1;
	return 0;
}

/* A large table costs memory only for elements that are used. */
static int make_table(struct uft_hist *h)
{
	struct hist_table *t = calloc(1, sizeof(*t));
	void *memory;

	h->table = t;
	if (!t)
		return -ENOMEM;
	t->refs = 1;
	t->bytes = uft_hist_map_bytes(h->attrs.bits, h->words);
	t->map = (struct uft_hist_map){ .bits = h->attrs.bits, .key_words = h->key_words, .words = h->words };
	memory = mmap(NULL, t->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return -ENOMEM;
	t->map.memory = memory;
	t->label = needs_labels(h) ? calloc((size_t)1 << h->attrs.bits, sizeof(*t->label)) : NULL;
	return needs_labels(h) && !t->label ? -ENOMEM : 0;
}

static void place_variable(struct uft_hist *h, struct hist_field *f, uint32_t *bit)
{
	f->word = h->words++;
	f->bit = (*bit)++;
	if (!(f->flags & (F_STRING | F_STACK)))
		return;
	f->text_word = h->words;
	h->words += TEXT_BYTES / 8;
}

static int place_all(struct uft_hist *h)
{
	uint32_t bit = 0;

	if (h->nvars + h->nfield_vars + h->nsave_vars + h->nactions > 64)
		return -EINVAL;
	h->words = h->key_words;
	h->set_word = h->words++;
	for (uint32_t i = 0; i < h->nvals; i++)
		if (h->field[i]->flags & F_VAR)
			place_variable(h, h->field[i], &bit);
	for (uint32_t i = 0; i < h->nfield_vars; i++)
		place_variable(h, h->field_var[i]->var, &bit);
	for (uint32_t i = 0; i < h->nsave_vars; i++)
		place_variable(h, h->save_var[i]->var, &bit);
	for (uint32_t i = 0; i < h->nactions; i++) {
		h->action[i]->track_word = h->words++;
		h->action[i]->track_bit = bit++;
	}
	for (uint32_t i = h->nvals; i < h->nvals + h->nkeys; i++)
		if (h->field[i]->flags & F_EXECNAME && !h->comm_word) {
			h->comm_word = h->words;
			h->words += 2;
		}
	for (uint32_t i = 0; i < h->nvals; i++)
		if (!(h->field[i]->flags & F_VAR))
			h->field[i]->word = h->words++;
	return 0;
}

int uft_hist_join(struct uft_hist *h, struct uft_hist_errors *errors)
{
	struct uft_hist **last = &h->set->first;
	int ret;

	h->errors = errors;
	ret = actions_make(h);
	h->errors = NULL;
	ret = ret ? ret : place_all(h);
	if (!ret && !h->table)
		ret = make_table(h);
	if (ret)
		return ret;
	while (*last)
		last = &(*last)->next;
	*last = h;
	h->has_joined = 1;
	return 0;
}

void uft_hist_share(struct uft_hist *h, struct uft_hist *other)
{
	h->table = other->table;
	h->table->refs++;
}

void uft_hist_free(struct uft_hist *h)
{
	if (!h)
		return;
	for (struct uft_hist **p = &h->set->first; h->has_joined && *p; p = &(*p)->next)
		if (*p == h) {
			*p = h->next;
			break;
		}
	actions_free(h);
	for (uint32_t i = 0; i < MAX_FIELDS; i++)
		field_free(h->field[i]);
	for (uint32_t i = 0; i < h->nrefs; i++) {
		if (h->ref[i]->of != h)
			h->ref[i]->of->used--;
		field_free(h->ref[i]);
	}
	free_table(h->table);
	free(h->attrs.copy);
	free(h->command);
	free(h);
}

enum uft_hist_verb uft_hist_verb(const struct uft_hist *h)
{
	return h->attrs.verb;
}

int uft_hist_is_used(const struct uft_hist *h)
{
	return h->used != 0;
}

const char *uft_hist_clock(const struct uft_hist *h)
{
	return h->has_timestamps ? h->attrs.clock : NULL;
}

const char *uft_hist_name(const struct uft_hist *h)
{
	return h->attrs.name;
}

const struct uft_event_type *uft_hist_type(const struct uft_hist *h)
{
	return h->type;
}

int uft_hist_needs_stack(const struct uft_hist *h)
{
	for (uint32_t i = 0; i < h->nvals + h->nkeys; i++) {
		const struct hist_field *f = h->field[i];

		if (f->flags & F_STACK && !(f->flags & (F_ALIAS | F_VAR_REF)) && !f->field)
			return 1;
	}
	return 0;
}

static int is_same_event_field(const struct uft_event_field *a, const struct uft_event_field *b)
{
	if (a == b || !a || !b)
		return a == b;
	return !strcmp(a->name, b->name) && !strcmp(a->type, b->type) && a->size == b->size &&
	       a->is_signed == b->is_signed;
}

static int is_same_field(const struct hist_field *a, const struct hist_field *b)
{
	if (a->flags != b->flags || a->size != b->size || a->is_signed != b->is_signed || a->buckets != b->buckets ||
	    !is_same_event_field(a->field, b->field) || !a->var != !b->var)
		return 0;
	return !a->var || !strcmp(a->var, b->var);
}

int uft_hist_is_same(const struct uft_hist *a, const struct uft_hist *b)
{
	if (a->nvals != b->nvals || a->nkeys != b->nkeys || a->nsort != b->nsort)
		return 0;
	for (uint32_t i = 0; i < a->nvals + a->nkeys; i++)
		if (!is_same_field(a->field[i], b->field[i]))
			return 0;
	for (uint32_t i = 0; i < a->nsort; i++)
		if (a->sort[i].field != b->sort[i].field || a->sort[i].is_descending != b->sort[i].is_descending)
			return 0;
	return actions_are_same(a, b);
}

/* ---- An event -------------------------------------------------------------------------------- */

static void make_key(const struct uft_hist *h, const struct uft_hist_record *rec, uint64_t *key)
{
	memset(key, 0, 8 * h->key_words);
	for (uint32_t i = h->nvals; i < h->nvals + h->nkeys; i++) {
		const struct hist_field *f = h->field[i];
		struct hist_value v = field_value(h, f, rec, NULL);

		if (v.p)
			memcpy(key + f->word, v.p,
			       v.bytes < f->size ? v.bytes : f->size - ((f->flags & F_STRING) != 0));
		else
			key[f->word] = v.number;
	}
}

/*
 * Looks up the values of references: to this histogram's own variables (@own), or to others'. 0: a variable is not set.
 * As in the kernel, the other histogram may have fewer keys: the first of ours are its keys.
 */
static int resolve(const struct uft_hist *h, const uint64_t *key, int own, uint64_t *refs)
{
	for (uint32_t i = 0; i < h->nrefs; i++) {
		const struct hist_field *r = h->ref[i];
		uint64_t *e, bit = 1ull << r->target->bit;

		if ((r->of == h) != own)
			continue;
		e = r->of->key_words <= h->key_words ? uft_hist_map_find(&r->of->table->map, key) : NULL;
		if (!e || !(e[r->of->set_word] & bit))
			return 0;
		refs[i] = e[r->target->word];
		if (!own && r->is_read_once)
			e[r->of->set_word] &= ~bit;
	}
	return 1;
}

void variable_store(const struct uft_hist *h, const struct hist_field *var, uint64_t *element, struct hist_value v)
{
	if (var->text_word) {
		char *to = (char *)(element + var->text_word);
		size_t n = v.bytes < TEXT_BYTES - 1 ? v.bytes : TEXT_BYTES - 1;

		memcpy(to, v.p ? v.p : "", v.p ? n : 0);
		memset(to + (v.p ? n : 0), 0, TEXT_BYTES - (v.p ? n : 0));
		v.number = (uintptr_t)to;
	}
	element[var->word] = v.number;
	element[h->set_word] |= 1ull << var->bit;
}

/* Keeps the names of the addresses in a new element's key, a line for each, while their objects are loaded. */
static void set_label(const struct uft_hist *h, const uint64_t *element, const struct uft_hist_record *rec)
{
	char **label = &h->table->label[uft_hist_map_index(&h->table->map, element)], *text;
	size_t n = 0;

	if (*label || !h->set->env.name)
		return;
	text = calloc(1, LABEL_BYTES);
	for (uint32_t i = h->nvals; text && i < h->nvals + h->nkeys; i++) {
		const struct hist_field *f = h->field[i];
		uint32_t of = f->flags & F_STACK ? STACK_DEPTH : f->flags & (F_SYM | F_SYM_OFFSET) ? 1 : 0;

		for (uint32_t k = 0; k < of && n + 1024 < LABEL_BYTES; k++) {
			uint64_t addr = element[f->word + k];
			size_t got = addr ? h->set->env.name(h->set->env.arg, rec->where, addr, !(f->flags & F_SYM),
				text + n, 1023) : 0;

			n += got ? got : (size_t)snprintf(text + n, 1023, "0x%llx", (unsigned long long)addr);
			text[n++] = '\0';
		}
	}
	*label = text ? realloc(text, n + 1) : NULL;
	if (text && !*label)
		free(text);
}

static void begin_element(const struct uft_hist *h, uint64_t *element, const struct uft_hist_record *rec)
{
	if (h->comm_word && rec->comm)
		strncpy((char *)(element + h->comm_word), rec->comm, 15);
	if (h->table->label)
		set_label(h, element, rec);
}

void uft_hist_update(struct uft_hist *h, const struct uft_hist_record *rec)
{
	uint64_t key[MAX_KEY_BYTES / 8 + 1], refs[sizeof(h->ref) / sizeof(h->ref[0])] = { 0 }, *element;
	int is_new;

	make_key(h, rec, key);
	if (h->nrefs && !resolve(h, key, 0, refs))
		return;
	element = uft_hist_map_insert(&h->table->map, key, &is_new);
	if (!element)
		return;
	if (is_new)
		begin_element(h, element, rec);
	for (uint32_t i = 0; i < h->nvals; i++) {
		const struct hist_field *f = h->field[i];
		struct hist_value v = field_value(h, f, rec, refs);

		if (f->flags & F_VAR)
			variable_store(h, f, element, v);
		else
			uft_hist_add(&element[f->word], v.number);
	}
	for (uint32_t i = 0; i < h->nfield_vars; i++)
		field_var_store(h, h->field_var[i], element, rec, refs);
	if (h->nactions && resolve(h, key, 1, refs))
		actions_run(h, element, rec, refs);
}

void uft_hist_clear(struct uft_hist *h)
{
	struct hist_table *t = h->table;

	for (uint32_t i = 0; t->label && i < 1u << t->map.bits; i++) {
		free(t->label[i]);
		t->label[i] = NULL;
	}
	uft_hist_map_clear(&t->map);
}

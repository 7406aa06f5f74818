// SPDX-License-Identifier: MIT
/*
 * event_rules.c - make the rules of an event: the programs that targets run, from the filters that are wanted
 *
 * An event is recorded if anyone wants it unfiltered and of all tasks, or if one of the filters accepts its record, of
 * a task that is wanted. A filter that
 * does not fit the event (a field that it does not have, with a word that means several events) filters nothing,
 * as in the kernel. Behind those come rules that do something else (switch the graph of a thread); an event that only
 * has such is recorded unfiltered. An event of which one histogram is all that is wanted is counted by targets, where
 * they can. Rules are made once for each type and specification.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/plan/plan.h"
#include "symbol/array.h"
#include "symbol/event_filter.h"

struct spec_rules {
	int is_made;
	struct uft_event_rules *rules;	/* malloc'd; NULL: none, every record is wanted */
};

/* Appends @head with the program @p, and @row behind it; NULL: none. */
static int append(struct uft_event_rules **out, struct uft_event_rule head, const struct uft_program *p,
		  const struct uft_hist_row *row)
{
	uint32_t bytes = *out ? (*out)->bytes : sizeof(**out), of_program = p ? p->bytes : 0;
	uint32_t more = (uint32_t)(sizeof(struct uft_event_rule) + of_program + (row ? sizeof(*row) : 0));
	struct uft_event_rules *grown = realloc(*out, bytes + more);
	struct uft_event_rule *rule;

	if (!grown)
		return -ENOMEM;
	if (!*out)
		*grown = (struct uft_event_rules){ 0 };
	rule = (struct uft_event_rule *)((char *)grown + bytes);
	*rule = head;
	rule->program_bytes = of_program;
	if (p)
		memcpy(rule + 1, p, of_program);
	if (row) {
		rule->count = sizeof(*row);
		memcpy((char *)(rule + 1) + of_program, row, sizeof(*row));
	}
	grown->bytes = bytes + more;
	grown->nrules++;
	*out = grown;
	return 0;
}

/*
 * The program of a filter and of lists of tasks. *out: free() it; NULL: all records are accepted. 0; another error than
 * -ENOMEM: the filter does not fit the event.
 */
static int make_program(const struct uft_event_type *type, const char *text, const struct uft_event_tasks *tasks,
			struct uft_program **out)
{
	struct uft_filter_error err;
	struct uft_program *p = NULL;
	int ret = text ? uft_event_filter_make(type, text, &p, &err) : 0;

	*out = p;
	if (ret || !(tasks && tasks->npids + tasks->nnot_pids /* GUARD(event_tasks, 0) */))
		return ret;
	ret = uft_event_tasks_make(tasks, p, out);
	if (ret == -E2BIG) {		/* the filter alone; readers look at the tasks, too */
		*out = p;
		return 0;
	}
	free(p);
	return ret;
}

/* 1: a rule was made of it; 0: it filters nothing; -ENOMEM. A filter that does not fit leaves the tasks. */
static int add_filter(struct uft_event_rules **out, const struct uft_event_type *type, const char *text,
		      const struct uft_event_tasks *tasks)
{
	struct uft_program *p = NULL;
	int ret = make_program(type, text, tasks, &p);

	if (ret && ret != -ENOMEM)
		ret = make_program(type, NULL, tasks, &p);
	if (!ret && p)
		ret = append(out, (struct uft_event_rule){ .action = UFT_RULE_RECORD }, p, NULL);
	ret = ret ? ret : p != NULL;
	free(p);
	return ret;
}

/* A rule that does not fit the event is left out. Returns 0 or -ENOMEM. */
static int add_action(struct uft_event_rules **out, const struct uft_event_type *type, const struct spec_event *e)
{
	const struct uft_event_rule head = { .action = e->action, .count = e->count, .key = e->key };
	struct uft_program *p = NULL;
	int ret = make_program(type, e->filter, &e->tasks, &p);

	if (!ret)
		ret = append(out, head, p, NULL);
	free(p);
	return ret == -ENOMEM ? ret : 0;
}

/* An event that the target cannot count is recorded for its histogram. */
static int is_for_records(const struct spec_event *e)
{
	return e->action <= UFT_RULE_RECORD || e->action == UFT_RULE_HIST;
}

static int is_of(const struct spec *sp, size_t i, const struct uft_event_type *type)
{
	return i < sp->nevents && sp->event[i].index == type->index;
}

static uint32_t count_actions(const struct spec *sp, const struct uft_event_type *type)
{
	uint32_t n = 0;

	for (size_t i = spec_first_event(sp, type); is_of(sp, i, type); i++)
		n += !is_for_records(&sp->event[i]);
	return n;
}

/* *out: the rules for records; NULL: all are written. */
static int add_actions(const struct spec *sp, const struct uft_event_type *type, struct uft_event_rules **out)
{
	int ret = 0;

	for (size_t i = spec_first_event(sp, type); !ret && is_of(sp, i, type); i++) {
		if (is_for_records(&sp->event[i]))
			continue;
		if (!*out)
			ret = append(out, (struct uft_event_rule){ .action = UFT_RULE_RECORD }, NULL, NULL);
		ret = ret ? ret : add_action(out, type, &sp->event[i]);
	}
	return ret;
}

/*
 * Makes the rule by which targets count the event: only one histogram wants it, and its filter tests nothing that a
 * target does not know. 1: made; 0: records are needed; -ENOMEM.
 */
static int make_count(const struct spec *sp, const struct uft_event_type *type, struct uft_event_rules **out)
{
	size_t i = spec_first_event(sp, type);
	const struct spec_event *e = &sp->event[i];
	struct uft_program *p = NULL;
	int ret;

	if (!is_of(sp, i, type) || e->action != UFT_RULE_HIST || is_of(sp, i + 1, type) ||
	    spec_has_word(sp, spec_last_word(sp, type)))
		return 0;
	ret = make_program(type, e->filter, &e->tasks, &p);
	if (!ret && !(p && p->facts & ~(uint32_t)UFT_FACT_TID))
		ret = append(out, (struct uft_event_rule){ .action = UFT_RULE_HIST }, p, &e->row);
	free(p);
	return ret == -ENOMEM ? ret : *out != NULL;
}

static int make_records(const struct spec *sp, const struct uft_event_type *type, struct uft_event_rules **out)
{
	size_t word = spec_last_word(sp, type);
	int ret = 1;

	for (size_t i = spec_first_event(sp, type); ret > 0 && is_of(sp, i, type); i++)
		if (is_for_records(&sp->event[i]))
			ret = add_filter(out, type, sp->event[i].filter, &sp->event[i].tasks);
	if (ret > 0 && spec_has_word(sp, word))
		ret = add_filter(out, type, sp->event_filters[word], NULL);
	/* readers filter, too */
	if (ret <= 0 || (*out && (*out)->nrules + count_actions(sp, type) > UFT_EVENT_RULES_MAX)) {
		free(*out);
		*out = NULL;
	}
	ret = ret < 0 ? ret : add_actions(sp, type, out);
	if (ret || (*out && (*out)->nrules > UFT_EVENT_RULES_MAX)) {
		free(*out);
		*out = NULL;
	}
	return ret;
}

static int make(const struct spec *sp, const struct uft_event_type *type, struct uft_event_rules **out)
{
	int ret = make_count(sp, type, out);

	ret = ret ? ret : make_records(sp, type, out);
	if (*out)
		(*out)->id = type->id;
	return ret < 0 ? ret : 0;
}

int spec_event_rules(struct spec *sp, const struct uft_event_type *type, const struct uft_event_rules **out)
{
	int ret;

	if (array_reach(sp->rules, sp->nrules, type->index))
		return -ENOMEM;
	if (!sp->rules[type->index].is_made) {
		ret = make(sp, type, &sp->rules[type->index].rules);
		if (ret)
			return ret;
		sp->rules[type->index].is_made = 1;
	}
	*out = sp->rules[type->index].rules;
	return 0;
}

int spec_accepts_event(struct spec *sp, const struct uft_event_type *type, const struct uft_record *r)
{
	const struct uft_event_rules *rules;
	const struct uft_event_rule *rule;

	if (spec_event_rules(sp, type, &rules) || !rules)
		return 1;
	rule = (const struct uft_event_rule *)(rules + 1);
	for (uint32_t i = 0; i < rules->nrules; i++) {
		int is_wanted = rule->action == UFT_RULE_RECORD || rule->action == UFT_RULE_HIST;

		if (is_wanted && (!rule->program_bytes || uft_program_run((const struct uft_program *)(rule + 1), r)))
			return 1;
		rule = uft_event_rule_next(rule);
	}
	return 0;
}

void spec_rules_free(struct spec *sp)
{
	for (uint32_t i = 0; i < sp->nrules; i++)
		free(sp->rules[i].rules);
	free(sp->rules);
}

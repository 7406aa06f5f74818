// SPDX-License-Identifier: MIT
/*
 * event_rules.c - the rules of an event: of the filters that are wanted, the programs that targets get
 *
 * An event is recorded if anyone wants it unfiltered, or if one of the filters accepts its record. A filter that
 * does not fit the event (a field that it does not have, with a word that means several events) filters nothing,
 * as in the kernel. Behind those come rules that do something else (switch the graph of a thread); an event that only
 * has such is recorded unfiltered. Rules are made once for each type and specification.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/plan/plan.h"
#include "symbol/event_filter.h"

struct spec_rules {
	int is_made;
	struct uft_event_rules *rules;	/* malloc'd; NULL: none, every record is wanted */
};

/* Appends @head with the program @p; NULL: none. */
static int append(struct uft_event_rules **out, struct uft_event_rule head, const struct uft_program *p)
{
	uint32_t bytes = *out ? (*out)->bytes : sizeof(**out), more = (uint32_t)sizeof(struct uft_event_rule) + (p ? p->bytes : 0);
	struct uft_event_rules *grown = realloc(*out, bytes + more);
	struct uft_event_rule *rule;

	if (!grown)
		return -ENOMEM;
	if (!*out)
		*grown = (struct uft_event_rules){ 0 };
	rule = (struct uft_event_rule *)((char *)grown + bytes);
	*rule = head;
	rule->program_bytes = p ? p->bytes : 0;
	if (p)
		memcpy(rule + 1, p, p->bytes);
	grown->bytes = bytes + more;
	grown->nrules++;
	*out = grown;
	return 0;
}

/* 1: a rule was made of it; 0: it filters nothing; -ENOMEM. */
static int add_filter(struct uft_event_rules **out, const struct uft_event_type *type, const char *text)
{
	struct uft_filter_error err;
	struct uft_program *p = NULL;
	int ret = text ? uft_event_filter_make(type, text, &p, &err) : -EINVAL;

	if (!ret)
		ret = append(out, (struct uft_event_rule){ .action = UFT_RULE_RECORD }, p);
	free(p);
	return ret == -ENOMEM ? ret : !ret;
}

/* One that does not fit does nothing. 0, -ENOMEM. */
static int add_action(struct uft_event_rules **out, const struct uft_event_type *type, const struct spec_event *e)
{
	const struct uft_event_rule head = { .action = e->action, .count = e->count, .key = e->key };
	struct uft_filter_error err;
	struct uft_program *p = NULL;
	int ret = e->filter ? uft_event_filter_make(type, e->filter, &p, &err) : 0;

	if (!ret)
		ret = append(out, head, p);
	free(p);
	return ret == -ENOMEM ? ret : 0;
}

static int is_of(const struct spec *sp, size_t i, const struct uft_event_type *type)
{
	return i < sp->nevents && sp->event[i].index == type->index;
}

static uint32_t count_actions(const struct spec *sp, const struct uft_event_type *type)
{
	uint32_t n = 0;

	for (size_t i = spec_first_event(sp, type); is_of(sp, i, type); i++)
		n += sp->event[i].action > UFT_RULE_RECORD;
	return n;
}

/* *out: the rules for records; NULL: all are written. */
static int add_actions(const struct spec *sp, const struct uft_event_type *type, struct uft_event_rules **out)
{
	int ret = 0;

	for (size_t i = spec_first_event(sp, type); !ret && is_of(sp, i, type); i++) {
		if (sp->event[i].action <= UFT_RULE_RECORD)
			continue;
		if (!*out)
			ret = append(out, (struct uft_event_rule){ .action = UFT_RULE_RECORD }, NULL);
		ret = ret ? ret : add_action(out, type, &sp->event[i]);
	}
	return ret;
}

static int make(const struct spec *sp, const struct uft_event_type *type, struct uft_event_rules **out)
{
	int ret = 1;

	for (size_t i = spec_first_event(sp, type); ret > 0 && is_of(sp, i, type); i++)
		if (sp->event[i].action <= UFT_RULE_RECORD)
			ret = add_filter(out, type, sp->event[i].filter);
	for (size_t i = sp->nevent_words; ret > 0 && i--;) {	/* the last word that means it decides */
		const char *word = sp->event_words[i];
		int is_not = *word == '!';

		if (!uft_event_matches(word + is_not, strlen(word + is_not), type))
			continue;
		ret = is_not ? ret : add_filter(out, type, sp->event_filters[i]);
		break;
	}
	if (ret <= 0 || (*out && (*out)->nrules + count_actions(sp, type) > UFT_EVENT_RULES_MAX)) {	/* readers filter, too */
		free(*out);
		*out = NULL;
	}
	ret = ret < 0 ? ret : add_actions(sp, type, out);
	if (ret || (*out && (*out)->nrules > UFT_EVENT_RULES_MAX)) {
		free(*out);
		*out = NULL;
	}
	if (*out)
		(*out)->id = type->id;
	return ret;
}

int spec_event_rules(struct spec *sp, const struct uft_event_type *type, const struct uft_event_rules **out)
{
	int ret;

	if (type->index >= sp->nrules) {
		uint32_t n = type->index + 1 < 2 * sp->nrules ? 2 * sp->nrules : type->index + 1;
		struct spec_rules *grown = realloc(sp->rules, n * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		memset(grown + sp->nrules, 0, (n - sp->nrules) * sizeof(*grown));
		sp->rules = grown;
		sp->nrules = n;
	}
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
		if (rule->action == UFT_RULE_RECORD && (!rule->program_bytes || uft_program_run((const struct uft_program *)(rule + 1), r)))
			return 1;
		rule = (const struct uft_event_rule *)((const char *)(rule + 1) + rule->program_bytes);
	}
	return 0;
}

void spec_rules_free(struct spec *sp)
{
	for (uint32_t i = 0; i < sp->nrules; i++)
		free(sp->rules[i].rules);
	free(sp->rules);
}

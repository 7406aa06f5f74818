/* SPDX-License-Identifier: MIT */
/*
 * tracepoints.c - tracepoints that the target's objects declare (uft/tracepoint.h): found, put into the table
 * of types, switched
 *
 * An object's tracepoints are looked for once in each address space, from its file. Each gets a type in the
 * session's table; a damaged one, or one whose name has another type already, is said once and left alone.
 * The specification's words choose the tracepoints. One gets its rules first (plan/event_rules.c), then its
 * id and its writer, then its calls lead there; a call that is under way when it goes off finds no writer.
 */
#include "control/arm/arm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void warn(void *session, const char *text)
{
	session_warn(session, "%s", text);
}

static int find_events(struct uft_session *s, struct space_obj *o, struct uft_object *obj)
{
	int ret = uft_object_events(obj, &o->found);

	if (ret)
		return ret;
	o->type = calloc(o->found.nevents + 1, sizeof(*o->type));
	if (!o->type)
		return -ENOMEM;
	o->has_events = 1;
	if (o->found.nrefused)
		session_warn(s, "%s%s", o->found.refused.text, o->found.nrefused > 1 ? " (and others like it)" : "");
	ret = uft_found_events_add(s->types, obj, &o->found, o->type, warn, s);
	if (!ret && s->ev.events_found && o->found.nevents)
		s->ev.events_found(s->ev.arg, o->type, o->found.nevents);
	return ret;
}

/*
 * @n elements of @size from @from; the answer's statuses, int32_t at @status of each, are counted into
 * *failed and are otherwise of no matter.
 */
static int send_list(struct uft_session *s, struct target *t, uint32_t object, uint32_t op, const void *from,
		     uint32_t n, size_t size, size_t status, uint32_t *failed)
{
	uint32_t most = (uint32_t)(command_room(s, t, n * size) / size);
	int ret = 0;

	for (uint32_t at = 0, part; at < n && !ret; at += part) {
		uint8_t uft_shared *to;

		part = n - at < most ? n - at : most;
		to = (uint8_t uft_shared *)channel_payload(command_begin(s, t, op, part, object));
		shared_write(to, (const uint8_t *)from + at * size, part * size);
		ret = command_post(s, t);
		ret = ret ? ret : command_wait(s, t);
		for (uint32_t i = 0; !ret && i < part; i++)
			*failed += SHARED_LOAD((int32_t uft_shared *)(to + i * size + status)) != 0;
	}
	return ret;
}

static int send_events(struct uft_session *s, struct target *t, uint32_t object, const uint8_t *on, uint32_t *failed)
{
	const struct space_obj *o = &t->space->obj[object];
	struct uft_event_switch *e = calloc(o->found.nevents + 1, sizeof(*e));
	int ret;

	if (!e)
		return -ENOMEM;
	for (uint32_t i = 0; i < o->found.nevents; i++)
		e[i] = (struct uft_event_switch){ .addr = o->found.event[i].addr + t->space->img->obj[object].bias,
			.id = on[i] ? o->type[i]->id : 0 };
	ret = send_list(s, t, object, UFT_CMD_EVENTS, e, o->found.nevents, sizeof(*e),
			offsetof(struct uft_event_switch, status), failed);
	free(e);
	return ret;
}

static int send_calls(struct uft_session *s, struct target *t, uint32_t object, const uint8_t *on, uint32_t *failed)
{
	const struct space_obj *o = &t->space->obj[object];
	uint64_t bias = t->space->img->obj[object].bias;
	struct uft_call_switch *c = calloc(o->found.nsites + 1, sizeof(*c));
	int ret;

	if (!c)
		return -ENOMEM;
	for (uint32_t i = 0; i < o->found.nsites; i++)
		c[i] = (struct uft_call_switch){ .addr = o->found.site[i].addr + bias, .on = o->found.site[i].on + bias,
			.is_on = on[o->found.site[i].event] };
	ret = send_list(s, t, object, UFT_CMD_TRACEPOINTS, c, o->found.nsites, sizeof(*c),
			offsetof(struct uft_call_switch, status), failed);
	free(c);
	return ret;
}

/* One command with @n lists; the answer is how many of them the agent did not take. */
static int post_rules(struct uft_session *s, struct target *t, uint32_t object, const uint8_t *lists, size_t bytes,
		      uint32_t n, uint32_t *failed)
{
	int ret;

	if (!n)
		return 0;
	shared_write(channel_payload(command_begin(s, t, UFT_CMD_RULES, n, object)), lists, bytes);
	ret = command_post(s, t);
	ret = ret ? ret : command_wait(s, t);
	*failed += ret > 0 ? (uint32_t)ret : 0;
	return ret < 0 ? ret : 0;
}

/*
 * The rules of the events that are on, as many at a time as a command always has room for; of one that has none, that
 * it has none. Rules that are longer than a command are left out: readers filter, too. *n: how many events have some.
 */
static int send_rules(struct uft_session *s, struct target *t, uint32_t object, const uint8_t *on, uint32_t *n,
		      uint32_t *failed)
{
	const struct space_obj *o = &t->space->obj[object];
	uint8_t *lists = malloc(s->arena.map->cmd_bytes - UFT_CMD_PAYLOAD);
	size_t bytes = 0;
	uint32_t count = 0;
	int ret = lists ? 0 : -ENOMEM;

	for (uint32_t i = 0; !ret && i < o->found.nevents; i++) {
		struct uft_event_rules none = { .id = on[i] ? o->type[i]->id : 0, .bytes = sizeof(none) };
		const struct uft_event_rules *rules = NULL;

		if (!on[i])
			continue;
		ret = spec_event_rules(s->spec, o->type[i], &rules);
		*n += rules != NULL;
		if (!rules || rules->bytes > command_room(s, t, rules->bytes))
			rules = &none;
		if (!ret && bytes && bytes + rules->bytes > CMD_ROOM) {
			ret = post_rules(s, t, object, lists, bytes, count, failed);
			bytes = count = 0;
		}
		if (ret)
			break;
		memcpy(lists + bytes, rules, rules->bytes);
		bytes += rules->bytes;
		count++;
	}
	ret = ret ? ret : post_rules(s, t, object, lists, bytes, count, failed);
	free(lists);
	return ret;
}

/* Does any event that is on have rules? -ENOMEM. */
static int has_rules(struct uft_session *s, const struct space_obj *o, const uint8_t *on)
{
	const struct uft_event_rules *rules = NULL;
	int ret = 0;

	for (uint32_t i = 0; !ret && !rules && i < o->found.nevents; i++)
		ret = on[i] ? spec_event_rules(s->spec, o->type[i], &rules) : 0;
	return ret ? ret : rules != NULL;
}

static int switch_events(struct uft_session *s, struct target *t, uint32_t object)
{
	struct space_obj *o = &t->space->obj[object];
	struct target_obj *to = &t->obj[object];
	uint8_t *on = calloc(o->found.nevents + 1, 1);
	uint32_t failed = 0, refused = 0, n = 0, nrules = 0;
	int ret = on ? 0 : -ENOMEM;

	for (uint32_t i = 0; !ret && i < o->found.nevents; i++) {
		on[i] = o->type[i] && spec_wants_event(s->spec, o->type[i]);
		n += on[i];
		if (on[i] && s->ev.event_type)
			s->ev.event_type(s->ev.arg, o->type[i]);
	}
	ret = ret ? ret : has_rules(s, o, on);
	if (ret > 0 || (!ret && n && to->has_rules))	/* before anything is written by them */
		ret = send_rules(s, t, object, on, &nrules, &refused);
	if (n || to->has_events_on) {
		ret = ret ? ret : send_events(s, t, object, on, &failed);
		ret = ret ? ret : send_calls(s, t, object, on, &failed);
		if (!ret && failed)
			session_warn_of(s, t->slice,
					"%s: %u call%s of tracepoints could not be switched: the code is not as it was built, or cannot be written",
				     t->space->img->obj[object].obj->path, failed, failed == 1 ? "" : "s");
	}
	if (!ret && refused)
		session_warn_of(s, t->slice,
				"%s: process %d has no room for the filters of %u event%s: it records every such event, and uft filters what it shows",
			     t->space->img->obj[object].obj->path, t->pid, refused, refused == 1 ? "" : "s");
	if (!ret) {
		to->has_rules = nrules != 0;
		to->has_events_on = n != 0;
		to->events_sent = s->spec->generation;
		stacks_warn(s, t);
	}
	free(on);
	return ret;
}

int command_tracepoints(struct uft_session *s, struct target *t, uint32_t object)
{
	struct space_obj *o = &t->space->obj[object];
	struct uft_object *obj = t->space->img->obj[object].obj;
	int ret = 0;

	if (!obj || t->obj[object].events_sent == s->spec->generation)
		return 0;
	if (!o->has_events) {
		const uint32_t subject = session_begin_of(s, t->slice);

		ret = find_events(s, o, obj);
		session_end_of(s, subject);
	}
	if (ret || !o->found.nevents)
		return ret;
	if (!target_takes_commands(t) || t->is_put_back)
		return -ESRCH;
	return switch_events(s, t, object);
}

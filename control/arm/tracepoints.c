/* SPDX-License-Identifier: MIT */
/*
 * tracepoints.c - find tracepoints that the target's objects declare (uft/tracepoint.h), and switch them on and off
 *
 * The session reads an object's tracepoints from its file, once for each address space. Each gets a type in the
 * session's table. A damaged tracepoint, or one whose name has a different type already, is not used, with one warning.
 * The words of the spec select tracepoints. A selected tracepoint gets its rules first (plan/event_rules.c), then its
 * id and its writer, then its calls are switched on. A call that is under way when the tracepoint is switched off finds
 * no writer.
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
 * Sends @n elements of @size bytes from @from, in parts. Each answer has an int32_t at offset @status; those that are
 * not 0 are added to *failed. 0, -ESRCH, -ETIMEDOUT.
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
		ret = command_send(s, t);
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

/* Sends one command with @n lists. Adds the number of lists that the agent refused to *failed. 0 or -errno. */
static int post_rules(struct uft_session *s, struct target *t, uint32_t object, const uint8_t *lists, size_t bytes,
		      uint32_t n, uint32_t *failed)
{
	int ret;

	if (!n)
		return 0;
	shared_write(channel_payload(command_begin(s, t, UFT_CMD_RULES, n, object)), lists, bytes);
	ret = command_send(s, t);
	*failed += ret > 0 ? (uint32_t)ret : 0;
	return ret < 0 ? ret : 0;
}

/*
 * Sends the rules of the events that are on, in parts that a command always has room for; an event without rules gets
 * an empty list. Rules longer than a command are not sent: readers filter, too. *n: number of events with rules. 0 or
 * -errno.
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

/* Returns 1 if an event that is on has rules, else 0; -ENOMEM. */
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
	if (ret > 0 || (!ret && n && to->has_rules))	/* before the events are switched on */
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

/* SPDX-License-Identifier: MIT */
/*
 * old_events.c - task events of recordings that have no table of types
 *
 * Their records hold words of fixed numbers (abi.h, UFT_EVENT_OLD_*). Here they become payloads of the built-in types,
 * so that no caller sees the old form.
 */
#include <string.h>

#include "stream/decode/decode.h"

struct payload { uint8_t b[8 * (2 + UFT_EXEC_WORDS)]; };

static void put(struct payload *p, const struct uft_event_type *type, const char *field, const void *from, uint32_t n)
{
	const struct uft_event_field *f = uft_event_field(type, field, strlen(field));

	if (f && f->size >= n)
		memcpy(p->b + f->offset - UFT_EVENT_COMMON, from, n);
}

static uint32_t put_exec(struct payload *p, const struct uft_event_type *type, const uint32_t *pid,
			 const uint8_t *words, uint32_t n)
{
	uint32_t most = 8 * ((n < UFT_EXEC_WORDS ? n : UFT_EXEC_WORDS) - 1),
		 len = (uint32_t)strnlen((const char *)words + 8, most);
	uint32_t where = (len + 1) << 16 | type->bytes;

	put(p, type, "filename", &where, 4);
	put(p, type, "pid", pid, 4);
	put(p, type, "old_pid", words, 4);
	memcpy(p->b + type->bytes - UFT_EVENT_COMMON, words + 8, len);
	return type->bytes - UFT_EVENT_COMMON + len + 1;
}

int dec_old_event(struct uft_stream *st, struct uft_event *e, uint32_t id, const uint8_t *p, uint32_t n)
{
	static const uint32_t now[] = { UFT_EVENT_SCHED_FORK, UFT_EVENT_SCHED_EXEC, UFT_EVENT_SCHED_EXIT };
	const uint32_t comm = 8 * UFT_COMM_WORDS, *pid = &e->task->tid;
	struct payload made = { { 0 } };
	uint32_t bytes;

	e->data = now[id - UFT_EVENT_OLD_FORK];
	e->type = uft_event_table_by_id(st->file->events, e->data);
	if (!e->type || n < (id == UFT_EVENT_OLD_EXEC ? 1 : 1 + UFT_COMM_WORDS))
		return 0;
	bytes = e->type->bytes - UFT_EVENT_COMMON;
	if (id == UFT_EVENT_OLD_FORK) {
		put(&made, e->type, "parent_comm", p, comm);
		put(&made, e->type, "parent_pid", pid, 4);
		put(&made, e->type, "child_comm", p, comm);	/* a child has its parent's name at that moment */
		put(&made, e->type, "child_pid", p + comm, 4);
	} else if (id == UFT_EVENT_OLD_EXIT) {
		put(&made, e->type, "comm", p, comm);
		put(&made, e->type, "pid", pid, 4);
		put(&made, e->type, "prio", p + comm, 4);
	} else {
		bytes = put_exec(&made, e->type, pid, p, n);
	}
	e->payload = dec_payload(st, made.b, bytes);
	e->payload_bytes = (bytes + 7) & ~7ull;
	return e->payload != NULL;
}

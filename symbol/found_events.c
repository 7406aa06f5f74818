/* SPDX-License-Identifier: MIT */
/* found_events.c - the tracepoints of an object become types of a table; see tracepoint.h */
#include "symbol/tracepoint.h"

#include <errno.h>

#include "symbol/names.h"

int uft_found_events_add(struct uft_event_table *t, const struct uft_object *obj, const struct uft_found_events *f,
			 const struct uft_event_type **type, void (*refused)(void *arg, const char *text), void *arg)
{
	for (uint32_t i = 0; i < f->nevents; i++) {
		struct uft_error err = { "" }, whole;
		int ret = uft_event_table_add(t, obj->owner, f->event[i].system, f->event[i].format,
					      &type[i], &err);

		if (ret && ret != -ENOMEM) {
			uft_fail(&whole, ret, "%s: %s: it is not recorded", obj->path, err.text);
			refused(arg, whole.text);
			continue;
		}
		ret = ret ? ret : uft_event_table_note_object(t, obj->owner, type[i],
								   uft_base_name(obj->path));
		if (ret == -ENOMEM)
			return ret;
		if (ret) {
			uft_fail(&whole, ret, "%s: ':mod:' does not find its events: too many files declare such", obj->path);
			refused(arg, whole.text);
		}
	}
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* plot_fields.c - find the fields of events that can be plotted: numbers */
#include <stdio.h>
#include <string.h>

#include "view/recording_internal.h"

#define CHOICES_MAX 2000u

int plot_is_field(const struct uft_event_field *f)
{
	return !f->is_array && f->element && strncmp(f->name, "common_", 7) != 0;
}

const struct uft_event_field *plot_track_field(const struct uft_event_type *type)
{
	const struct uft_event_field *f = uft_event_field(type, PLOT_TRACK, strlen(PLOT_TRACK));

	return f && f->is_string ? f : NULL;
}

int plot_put_choices(struct json *j, const struct uft_event_table *events)
{
	uint32_t n = uft_event_table_count(events), put = 0;

	json_raw(j, "[");
	for (uint32_t i = 0; i < n; i++) {
		const struct uft_event_type *type = uft_event_table_at(events, i);

		for (uint32_t k = 0; type && k < type->nfields && put < CHOICES_MAX; k++) {
			char text[300];

			if (!plot_is_field(&type->field[k]))
				continue;
			snprintf(text, sizeof(text), "%s.%s", type->name, type->field[k].name);
			json_comma(j);
			json_str(j, text);
			put++;
		}
	}
	json_raw(j, "]");
	return j->err;
}

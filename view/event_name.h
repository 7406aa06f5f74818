/* SPDX-License-Identifier: MIT */
/* event_name.h - names of events in pictures, lists and filters */
#ifndef UFT_VIEW_EVENT_NAME_H
#define UFT_VIEW_EVENT_NAME_H

#include "stream/stream.h"

#define VIEW_NAME_ROOM 256u

/*
 * Names an event: a call by its function, an event of its own by `NAME: TEXT`, data of a call by its fields. Valid
 * until the next call with the same @buf. Context: control, any thread.
 */
const char *view_event_name(const struct uft_event *ev, char buf[VIEW_NAME_ROOM]);

#endif

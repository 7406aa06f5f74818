/* SPDX-License-Identifier: MIT */
/* event_record.h - test an event of a type against a filter */
#ifndef UFT_STREAM_EVENT_RECORD_H
#define UFT_STREAM_EVENT_RECORD_H

#include "program/program.h"
#include "stream/stream.h"

int uft_event_accepts(const struct uft_program *p, const struct uft_event *ev);

#endif

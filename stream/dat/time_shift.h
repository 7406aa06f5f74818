/* SPDX-License-Identifier: MIT */
/*
 * time_shift.h - convert a guest's clock to its host's: option TIME_SHIFT of a trace.dat. Theory: time_shift.c.
 * Context: control.
 */
#ifndef UFT_STREAM_DAT_TIME_SHIFT_H
#define UFT_STREAM_DAT_TIME_SHIFT_H

#include <stddef.h>
#include <stdint.h>

struct dat_sample {
	uint64_t time;		/* of the guest's clock at the measurement */
	int64_t offset;		/* to be added */
	uint64_t scaling, fraction; /* a time is multiplied by scaling / 2^fraction */
};

struct dat_time_shift {
	struct dat_cpu_shift {
		struct dat_sample *sample;
		uint32_t n;
	} *cpu;
	uint32_t ncpus, flags;
	uint64_t peer;		/* the session of the host's clock */
};

/* Reads the option's @n bytes. 0, -EBADMSG or -ENOMEM. */
int dat_time_shift_read(struct dat_time_shift *s, const void *bytes, size_t n);
void dat_time_shift_free(struct dat_time_shift *s);
uint64_t dat_time_shift(const struct dat_time_shift *s, uint32_t cpu, uint64_t t);

#endif

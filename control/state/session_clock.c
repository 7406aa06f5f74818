// SPDX-License-Identifier: MIT
/*
 * session_clock.c - the clock of the targets' records
 *
 * It is the clock of the processor, or that of an emulator, whose rate comes with the first hello (start/preload.c).
 */
#include "control/state/state.h"
#include "symbol/host.h"

#include <time.h>

void uft_session_clock(void *session, uint64_t clock[2], uint64_t ns[2])
{
	struct uft_session *s = session;
	uint64_t hz = __atomic_load_n(&s->guest_hz, __ATOMIC_ACQUIRE);

	ns[1] = now_ns();
	clock[0] = clock[1] = 0;
	if (!hz)
		return;
	ns[0] = s->guest_ns0;
	clock[0] = s->guest_clock0;
	clock[1] = clock[0] + (uint64_t)((__int128)(int64_t)(ns[1] - ns[0]) * hz / 1000000000);
}

uint64_t session_clock(struct uft_session *s)
{
	uint64_t clock[2], ns[2];

	uft_session_clock(s, clock, ns);
	return clock[1] ? clock[1] : host_clock();
}

/* Waits until the session is 5 ms old: over that distance the ratio of the two clocks is exact to 1e-4. */
uint64_t session_clock_units(struct uft_session *s, uint64_t ns)
{
	uint64_t mono, clock, hz = __atomic_load_n(&s->guest_hz, __ATOMIC_ACQUIRE);

	if (!ns)
		return 0;
	if (hz)
		return (uint64_t)((unsigned __int128)ns * hz / 1000000000);
	while (now_ns() - s->mono0 < 5000000)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	mono = now_ns();
	clock = host_clock();
	return (uint64_t)((unsigned __int128)ns * (clock - s->clock0) / (mono - s->mono0));
}

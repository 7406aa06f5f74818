/* SPDX-License-Identifier: MIT */
/*
 * tracepoint_probes.h - a program's own functions at its tracepoints: register_trace_NAME(), unregister_trace_NAME()
 *
 * Part of trace_event.h if UFT_TRACE_PROBES is defined before it, in all files of an object that include the
 * declaration; always for DECLARE_TRACE(), which has no other use. Beside its nop trace_NAME() then tests one word, and
 * calls the registered probes: the highest priority first, among equal ones the oldest first. A probe gets the data
 * that was registered with it, and then the tracepoint's arguments.
 *
 * A list of probes never changes: a change makes a new list. While a thread may be in a list, it is counted in one of
 * two counters of the object. An old list is freed by a later change that finds both counters 0, or by
 * tracepoint_synchronize_unregister(). That function switches to the other counter, waits until the previous one is 0,
 * and does so a second time, because a thread may read which counter to use and count itself late. After it returns no
 * probe runs that was removed before. Probes may fire in signal handlers. Signal handlers may not call the functions
 * that change lists, and a probe may not call the function that waits for probes.
 */
#pragma GCC system_header	/* macros as the kernel's: no -pedantic */
#ifndef UFT_TRACEPOINT_PROBES_H
#define UFT_TRACEPOINT_PROBES_H

/* Not errno.h: events of the kernel have fields of the name errno, which is a macro there. */
#include <sched.h>
#include <stdlib.h>

#define TRACEPOINT_DEFAULT_PRIO	10
enum { __UFT_ENOENT = 2, __UFT_ENOMEM = 12, __UFT_EEXIST = 17, __UFT_EINVAL = 22 };

struct uft_probe { void *func, *data; int prio; };
struct uft_probe_list { struct uft_probe_list *next; size_t n; struct uft_probe v[]; };
struct uft_tracepoint_probes { struct uft_probe_list *list, *old; };	/* list: NULL: no probes */

/* One for the object: weak, so that its files share it. */
__attribute__((weak, visibility("hidden"))) struct uft_probe_users {
	unsigned long firing[2], turn;
	char lock;
} __uft_probes;

/* Enters the list. *turn: to be passed to __uft_probes_leave(). */
static inline __UFT_NOTRACE __attribute__((unused))
struct uft_probe_list *__uft_probes_enter(struct uft_tracepoint_probes *t, unsigned long *turn)
{
	*turn = __atomic_load_n(&__uft_probes.turn, __ATOMIC_SEQ_CST) & 1;
	__atomic_add_fetch(&__uft_probes.firing[*turn], 1, __ATOMIC_SEQ_CST);
	return __atomic_load_n(&t->list, __ATOMIC_SEQ_CST);
}

static inline __UFT_NOTRACE __attribute__((unused)) void __uft_probes_leave(unsigned long turn)
{
	__atomic_sub_fetch(&__uft_probes.firing[turn], 1, __ATOMIC_RELEASE);
}

static inline __UFT_NOTRACE __attribute__((unused)) void __uft_probes_lock(void)
{
	while (__atomic_test_and_set(&__uft_probes.lock, __ATOMIC_ACQUIRE))
		sched_yield();
}

static inline __UFT_NOTRACE __attribute__((unused)) void __uft_probes_unlock(void)
{
	__atomic_clear(&__uft_probes.lock, __ATOMIC_RELEASE);
}

/* Under the lock. */
static inline __UFT_NOTRACE __attribute__((unused)) void __uft_probes_replace(struct uft_tracepoint_probes *t,
								struct uft_probe_list *list)
{
	struct uft_probe_list *was = t->list;

	__atomic_store_n(&t->list, list, __ATOMIC_SEQ_CST);
	if (was) {
		was->next = t->old;
		t->old = was;
	}
	if (__atomic_load_n(&__uft_probes.firing[0], __ATOMIC_SEQ_CST) ||
	    __atomic_load_n(&__uft_probes.firing[1], __ATOMIC_SEQ_CST))
		return;
	while ((was = t->old)) {
		t->old = was->next;
		free(was);
	}
}

/* @is_in: add the probe, else remove it. 0, -EEXIST, -ENOENT, -ENOMEM. */
static inline __UFT_NOTRACE __attribute__((unused)) int __uft_probes_change(struct uft_tracepoint_probes *t, void *func,
	void *data,
							      int prio, int is_in)
{
	struct uft_probe_list *was, *list;
	size_t n, at, to = 0;

	__uft_probes_lock();
	was = t->list;
	n = was ? was->n : 0;
	for (at = 0; at < n && (was->v[at].func != func || was->v[at].data != data); at++)
		;
	if ((at < n) == is_in || !func) {
		__uft_probes_unlock();
		return !func ? -__UFT_EINVAL : is_in ? -__UFT_EEXIST : -__UFT_ENOENT;
	}
	list = (struct uft_probe_list *)malloc(sizeof(*list) + (n + 1) * sizeof(list->v[0]));
	if (!list) {
		__uft_probes_unlock();
		return -__UFT_ENOMEM;
	}
	list->next = NULL;
	for (size_t i = 0; i < n; i++) {
		if (is_in && to == i && was->v[i].prio < prio) {
			list->v[to].func = func;
			list->v[to].data = data;
			list->v[to++].prio = prio;
		}
		if (is_in || i != at)
			list->v[to++] = was->v[i];
	}
	if (is_in && to == n) {
		list->v[to].func = func;
		list->v[to].data = data;
		list->v[to++].prio = prio;
	}
	list->n = to;
	if (!to) {
		free(list);
		list = NULL;
	}
	__uft_probes_replace(t, list);
	__uft_probes_unlock();
	return 0;
}

static inline __UFT_NOTRACE __attribute__((unused)) void tracepoint_synchronize_unregister(void)
{
	__uft_probes_lock();
	for (int i = 0; i < 2; i++) {
		unsigned long was = __atomic_fetch_add(&__uft_probes.turn, 1, __ATOMIC_SEQ_CST) & 1;

		while (__atomic_load_n(&__uft_probes.firing[was], __ATOMIC_SEQ_CST))
			sched_yield();
	}
	__uft_probes_unlock();
}

/* @proto, @args: as in __UFT_DECLARE_TRACE(). */
#define __UFT_PROBES_DECLARE(name, proto, args)							\
	extern struct uft_tracepoint_probes __uft_probes_##name __attribute__((visibility("hidden")));	\
	static inline __UFT_NOTRACE __attribute__((unused)) int register_trace_prio_##name(void (*probe)(void *, \
		proto), void *data, \
		int prio) \
	{											\
		return __uft_probes_change(&__uft_probes_##name, (void *)probe, data, prio, 1);	\
	}											\
	static inline __UFT_NOTRACE __attribute__((unused)) int register_trace_##name(void (*probe)(void *, proto), \
		void *data) \
	{											\
		return register_trace_prio_##name(probe, data, TRACEPOINT_DEFAULT_PRIO);	\
	}											\
	static inline __UFT_NOTRACE __attribute__((unused)) int unregister_trace_##name(void (*probe)(void *, proto), \
		void *data) \
	{											\
		return __uft_probes_change(&__uft_probes_##name, (void *)probe, data, 0, 0);	\
	}											\
	static __UFT_NOTRACE __attribute__((unused, noinline, cold)) void __uft_fire_##name(proto)		\
	{											\
		unsigned long __uft_turn;							\
		const struct uft_probe_list *__uft_list = __uft_probes_enter(&__uft_probes_##name, \
			&__uft_turn); \
												\
		for (size_t __uft_i = 0; __uft_list && __uft_i < __uft_list->n; __uft_i++)	\
			((void (*)(void *, proto))__uft_list->v[__uft_i].func)(__uft_list->v[__uft_i].data, \
				args); \
		__uft_probes_leave(__uft_turn);							\
	}
#define __UFT_PROBES_DEFINE(name)	struct uft_tracepoint_probes __uft_probes_##name;
#define __UFT_PROBES_ARE(name)		__builtin_expect(__atomic_load_n(&__uft_probes_##name.list, \
	__ATOMIC_RELAXED) != NULL, 0)

#endif

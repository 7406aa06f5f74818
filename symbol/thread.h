/* SPDX-License-Identifier: MIT */
/*
 * thread.h - threads of uft, which take no signals
 *
 * Signals go to the calling thread, which has the handlers. Only SIGBUS is not blocked, because a thread that reads a
 * mapped file raises it (guard_map.h), and the kernel ends a program that blocks it. Context: control, any thread.
 */
#ifndef UFT_SYMBOL_THREAD_H
#define UFT_SYMBOL_THREAD_H

#include <pthread.h>

/* Starts a thread that runs fn(arg), joinable. 0 or -errno. */
int thread_start(pthread_t *thread, void *(*fn)(void *arg), void *arg);

#endif

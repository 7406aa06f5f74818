/* SPDX-License-Identifier: MIT */
/*
 * kshark-read.c - reads a trace.dat with KernelShark's library and says what it found
 *
 *	kshark-read FILE	prints as mkdat does: cpu N COUNT, lost CPU COUNT, events N; then
 *				`task PID NAME COUNT`, `event NAME COUNT`, `func NAME COUNT` of what the rows show
 *
 * This is what KernelShark has in memory when its window opens. Exit 1: it could not be read, or an entry is
 * earlier than the one before it.
 */
#include <libkshark.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAXKEYS 4096

static struct { char *key; unsigned long n; } table[MAXKEYS];
static size_t nkeys;

static void count(const char *what, const char *name)
{
	char key[512];

	snprintf(key, sizeof(key), "%s %s", what, name ? name : "(null)");
	for (size_t i = 0; i < nkeys; i++) {
		if (!strcmp(table[i].key, key)) {
			table[i].n++;
			return;
		}
	}
	if (nkeys < MAXKEYS) {
		table[nkeys].key = strdup(key);
		table[nkeys++].n = 1;
	}
}

/* The info column of our events starts with, or contains, the function's name; strip what stands around it. */
static void count_function(char *info)
{
	char *start = info, *bar;

	if (!info)
		return;
	if ((bar = strchr(info, '|')))
		start = bar + 1;
	start += strspn(start, " ");
	start[strcspn(start, "( \n")] = 0;
	count("func", start);
	free(info);
}

static void count_entry(const struct kshark_entry *e)
{
	char text[64], *name, *task;

	if (e->event_id == KS_EVENT_OVERFLOW) {
		snprintf(text, sizeof(text), "%d", e->cpu);
		count("overflow", text);
		return;
	}
	snprintf(text, sizeof(text), "%d", e->cpu);
	count("cpu", text);
	name = kshark_get_event_name(e);
	count("event", name);
	free(name);
	task = kshark_get_task(e);
	snprintf(text, sizeof(text), "%d %s", kshark_get_pid(e), task ? task : "");
	count("task", text);
	free(task);
	count_function(kshark_get_info(e));
}

int main(int argc, char **argv)
{
	struct kshark_context *ctx = NULL;
	struct kshark_entry **entries = NULL;
	unsigned long events = 0;
	int64_t last = 0;
	ssize_t n;
	int sd;

	if (argc != 2 || !kshark_instance(&ctx))
		return 2;
	sd = kshark_open(ctx, argv[1]);
	if (sd < 0) {
		fprintf(stderr, "kshark-read: cannot open %s: %d\n", argv[1], sd);
		return 1;
	}
	n = kshark_load_all_entries(ctx, &entries);
	if (n < 0) {
		fprintf(stderr, "kshark-read: cannot load: %zd\n", n);
		return 1;
	}
	for (ssize_t i = 0; i < n; i++) {
		if (entries[i]->ts < last) {
			fprintf(stderr, "kshark-read: entry %zd goes back in time\n", i);
			return 1;
		}
		last = entries[i]->ts;
		events += entries[i]->event_id != KS_EVENT_OVERFLOW;
		count_entry(entries[i]);
	}
	for (size_t i = 0; i < nkeys; i++)
		printf("%s %lu\n", table[i].key, table[i].n);
	printf("events %lu\n", events);
	for (ssize_t i = 0; i < n; i++)
		free(entries[i]);
	free(entries);
	kshark_close_all(ctx);
	kshark_free(ctx);
	return 0;
}

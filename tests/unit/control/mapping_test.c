/* SPDX-License-Identifier: MIT */
/* mapping_test.c - a mapping that one reading of /proc/PID/maps leaves out is found by the next */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/proc/proc.h"

#define CHECK(c) do { if (!(c)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #c); exit(1); } } while (0)

struct look {
	int missed, seen;	/* readings in which the line is left out; so far */
};

/* The stack stands for a mapping that a thread splits: it is left out of the first readings. */
static int find_stack(void *arg, char *line)
{
	struct look *l = arg;

	return strstr(line, "[stack]") && l->seen++ >= l->missed ? 7 : 0;
}

static int find_nothing(void *arg, char *line)
{
	*(int *)arg += strstr(line, "[stack]") != NULL;
	return 0;
}

int main(void)
{
	int readings = 0;

	CHECK(proc_find_mapping(getpid(), find_stack, &(struct look){ 0 }) == 7);
	CHECK(proc_find_mapping(getpid(), find_stack, &(struct look){ .missed = 1 }) == 7);
	CHECK(proc_find_mapping(getpid(), find_stack, &(struct look){ .missed = 2 }) == 7);
	CHECK(proc_find_mapping(getpid(), find_nothing, &readings) == 0 && readings == 3);
	CHECK(proc_find_mapping(-1, find_nothing, &readings) == 0 && readings == 3);
	return 0;
}

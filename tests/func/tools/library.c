/* SPDX-License-Identifier: MIT */
/*
 * library.c PROGRAM - libtracefs as a program would use it: where the files are, tracer, filter, a marker,
 * what was recorded
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>

static int check(int ret, const char *what)
{
	if (ret < 0)
		printf("%s failed\n", what);
	return ret < 0;
}

int main(int argc, char **argv)
{
	char *text, **list;
	int failed = 0, size;

	if (argc < 2)
		return 2;
	printf("directory %s\n", tracefs_tracing_dir());
	if (system(argv[1]))		/* its functions are known from then on */
		return 2;
	list = tracefs_tracers(NULL);
	for (int i = 0; list && list[i]; i++)
		printf("tracer %s\n", list[i]);
	tracefs_list_free(list);
	failed |= check(tracefs_function_filter(NULL, "work", NULL, TRACEFS_FL_RESET), "filter");
	failed |= check(tracefs_function_filter(NULL, "leaf", NULL, 0), "second filter");
	text = tracefs_instance_file_read(NULL, "set_ftrace_filter", &size);
	printf("filter\n%s", text ? text : "");
	free(text);
	failed |= check(tracefs_tracer_set(NULL, TRACEFS_TRACER_FUNCTION), "tracer");
	failed |= check(tracefs_instance_file_clear(NULL, "trace"), "clear");
	failed |= check(tracefs_print_init(NULL), "marker") || check(tracefs_printf(NULL, "marked %d", 42), "printf");
	printf("status %d\n", system(argv[1]));
	failed |= check(tracefs_trace_off(NULL), "off");
	printf("on %d\n", tracefs_trace_is_on(NULL));
	text = tracefs_instance_file_read(NULL, "trace", &size);
	printf("%s", text ? text : "no trace\n");
	free(text);
	failed |= check(tracefs_tracer_clear(NULL), "clear the tracer");
	return failed;
}

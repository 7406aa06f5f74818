/* SPDX-License-Identifier: MIT */
/* options_test.c - the option parser: every field type, every way to write an option, every error */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cmd/cmd.h"
#include "cmd/options.h"

struct opts {
	int flag, other, choice;
	const char *string;
	struct cmd_list strings;
	uint32_t number;
	struct cmd_numbers numbers;
	uint64_t bytes, us_ns;
	struct cmd_moment moment;
	struct cmd_range range;
};

static const char *const colours[] = { "red", "green", "yellowgreen", NULL };

#define F(field) offsetof(struct opts, field)
static const struct cmd_option options[] = {
	{ "flag", 'f', NULL, "a flag", cmd_flag, F(flag), NULL },
	{ "other", 'x', NULL, "another flag", cmd_flag, F(other), NULL },
	{ "choice", 'c', "COLOUR", "one of", cmd_choice, F(choice), colours },
	{ "string", 's', "TEXT", "text", cmd_string, F(string), NULL },
	{ "item", 'i', "TEXT", "texts", cmd_strings, F(strings), NULL },
	{ "number", 'n', "N", "a number", cmd_uint, F(number), NULL },
	{ "numbers", 0, "LIST", "numbers", cmd_numbers, F(numbers), NULL },
	{ "bytes", 'b', "KB", "a size", cmd_kb, F(bytes), NULL },
	{ "us", 0, "US", "a time", cmd_time_us, F(us_ns), NULL },
	{ "seconds", 0, "S", "a time", cmd_moment, F(moment), NULL },
	{ "range", 'r', "A~B", "a range", cmd_time_range, F(range), NULL },
	{ 0 }
};
#undef F

static const struct cmd_syntax syntax = { "test", "[OPTIONS]", "Tests.", options, 0 };
static const struct cmd_syntax wrapper = { "test", "[OPTIONS] PROGRAM", "Tests.", options, 1 };

static char printed[8192];	/* what the last parse() wrote to stdout or stderr */
static char *args[16];
static int nargs;

/* Runs @fd's writers into `printed`. */
static int redirect(int fd, FILE *tmp)
{
	int saved = dup(fd);

	fflush(NULL);
	dup2(fileno(tmp), fd);
	return saved;
}

static void restore(int fd, int saved)
{
	fflush(NULL);
	dup2(saved, fd);
	close(saved);
}

static int parse_with(const struct cmd_syntax *s, struct opts *o, const char *line)
{
	static char words[512];
	FILE *tmp = tmpfile();
	int saved_out, saved_err, done;
	size_t n;

	memset(o, 0, sizeof(*o));
	o->choice = -1;
	snprintf(words, sizeof(words), "test %s", line);
	nargs = 0;
	for (char *w = strtok(words, " "); w; w = strtok(NULL, " "))
		args[nargs++] = strcmp(w, "''") == 0 ? (char *)"" : w;
	args[nargs] = NULL;
	assert_non_null(tmp);
	saved_out = redirect(1, tmp);
	saved_err = redirect(2, tmp);
	done = cmd_parse(s, &nargs, args, o);
	restore(1, saved_out);
	restore(2, saved_err);
	rewind(tmp);
	n = fread(printed, 1, sizeof(printed) - 1, tmp);
	printed[n] = '\0';
	fclose(tmp);
	return done;
}

static int parse(struct opts *o, const char *line)
{
	return parse_with(&syntax, o, line);
}

/* The line is refused with status 2 and one line that contains @text. */
static void refused(const char *line, const char *text)
{
	struct opts o;

	assert_int_equal(parse(&o, line), CMD_USAGE);
	if (!strstr(printed, text))
		fail_msg("'%s' printed: %s, expected: %s", line, printed, text);
	assert_ptr_equal(strchr(printed, '\n'), printed + strlen(printed) - 1);
	free(o.numbers.item);
	free(o.strings.item);
}

static void flags_combine(void **state)
{
	struct opts o;

	(void)state;
	assert_int_equal(parse(&o, "-fx"), -1);
	assert_int_equal(o.flag, 1);
	assert_int_equal(o.other, 1);
	assert_int_equal(parse(&o, "--flag a -x b"), -1);
	assert_int_equal(o.flag + o.other, 2);
	assert_int_equal(nargs, 3);
	assert_string_equal(args[1], "a");
	assert_string_equal(args[2], "b");
	assert_null(args[3]);
}

static void values_attach_every_way(void **state)
{
	static const char *const ways[] = { "-s text", "-stext", "--string text", "--string=text", "-fstext" };
	struct opts o;

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		assert_int_equal(parse(&o, ways[i]), -1);
		assert_string_equal(o.string, "text");
		assert_int_equal(nargs, 1);
	}
	assert_int_equal(parse(&o, "--string=a=b"), -1);
	assert_string_equal(o.string, "a=b");
	assert_int_equal(parse(&o, "-s -f"), -1);
	assert_string_equal(o.string, "-f");
	assert_int_equal(o.flag, 0);
}

static void lists_grow(void **state)
{
	struct opts o;

	(void)state;
	assert_int_equal(parse(&o, "-i a -i b --item=c"), -1);
	assert_int_equal(o.strings.n, 3);
	assert_string_equal(o.strings.item[0], "a");
	assert_string_equal(o.strings.item[2], "c");
	assert_null(o.strings.item[3]);
	free(o.strings.item);
	assert_int_equal(parse(&o, "--numbers 5,7-9 --numbers 0"), -1);
	assert_int_equal(o.numbers.n, 5);
	assert_int_equal(o.numbers.item[1], 7);
	assert_int_equal(o.numbers.item[3], 9);
	assert_int_equal(o.numbers.item[4], 0);
	free(o.numbers.item);
	assert_int_equal(parse(&o, "--numbers 4294967295"), -1);
	assert_int_equal(o.numbers.n, 1);
	free(o.numbers.item);
}

static void sizes_and_times(void **state)
{
	struct opts o;

	(void)state;
	assert_int_equal(parse(&o, "-b 64 --us 2.5 --seconds 0.25 -n 4294967295"), -1);
	assert_int_equal(o.bytes, 65536);
	assert_int_equal(o.us_ns, 2500);
	assert_int_equal(o.moment.ns, 250000000);
	assert_int_equal(o.number, UINT32_MAX);
	assert_int_equal(parse(&o, "-b 2M --us 3ms --seconds 7ns"), -1);
	assert_int_equal(o.bytes, 2 << 20);
	assert_int_equal(o.us_ns, 3000000);
	assert_int_equal(o.moment.ns, 7);
	assert_int_equal(parse(&o, "-b 1GB --us 1s --seconds 2min"), -1);
	assert_int_equal(o.bytes, 1 << 30);
	assert_int_equal(o.us_ns, 1000000000);
	assert_int_equal(o.moment.ns, 120000000000);
}

static void ranges(void **state)
{
	struct opts o;

	(void)state;
	assert_int_equal(parse(&o, "-r 1~2.5s"), -1);
	assert_int_equal(o.range.from.ns, 1000000000);
	assert_int_equal(o.range.to.ns, 2500000000);
	assert_int_equal(o.range.from.is_plain, 1);
	assert_int_equal(o.range.to.is_plain, 0);
	assert_int_equal(parse(&o, "-r 10ms~"), -1);
	assert_int_equal(o.range.from.ns, 10000000);
	assert_int_equal(o.range.to.ns, 0);
	assert_int_equal(parse(&o, "-r ~5us"), -1);
	assert_int_equal(o.range.from.ns, 0);
	assert_int_equal(o.range.to.ns, 5000);
	refused("-r 2~1", "ends before it begins");
	refused("-r 2", "is not a range");
	refused("-r 1~2~3", "is not a range");
	refused("-r x~2", "is not a range");
}

static void double_dash_ends_options(void **state)
{
	struct opts o;

	(void)state;
	assert_int_equal(parse(&o, "a -- -f --nonsense"), -1);
	assert_int_equal(o.flag, 0);
	assert_int_equal(nargs, 4);
	assert_string_equal(args[3], "--nonsense");
	assert_int_equal(parse(&o, "-"), -1);
	assert_int_equal(nargs, 2);
}

static void a_wrapper_leaves_the_program_its_options(void **state)
{
	struct opts o;

	(void)state;
	assert_int_equal(parse_with(&wrapper, &o, "-f prog -x --help -- y"), -1);
	assert_int_equal(o.flag, 1);
	assert_int_equal(o.other, 0);
	assert_int_equal(nargs, 6);
	assert_string_equal(args[1], "prog");
	assert_string_equal(args[3], "--help");
	assert_string_equal(args[4], "--");
	assert_int_equal(parse_with(&wrapper, &o, "-- -prog"), -1);
	assert_string_equal(args[1], "-prog");
}

static void unknown_options_name_the_near_ones(void **state)
{
	(void)state;
	refused("--flagg", "unknown option '--flagg'; did you mean '--flag'?");
	refused("--numbr=3", "'--number'");
	refused("--hlep", "'--help'");
	refused("-q", "unknown option '-q'");
	refused("-fq", "unknown option '-q' in '-fq'");
}

static void bad_values_are_explained(void **state)
{
	(void)state;
	refused("-c gren", "--choice: no COLOUR 'gren'; did you mean 'green'");
	refused("-c", "-c needs COLOUR");
	refused("--string", "--string needs TEXT");
	refused("--flag=1", "--flag takes no value");
	refused("-s ''", "--string: TEXT is empty");
	refused("-i ''", "--item: TEXT is empty");
	refused("-n 12x", "--number: '12x' is not a number");
	refused("-n -3", "'-3' is not a number");
	refused("-n 4294967296", "is too large");
	refused("-n 99999999999999999999", "is too large");
	refused("-b 3X", "is not a size");
	refused("-b ''", "is not a size");
	refused("--us fast", "is not a time");
	refused("--us -1", "is not a time");
	refused("--us 1e300", "is not a time");
	refused("--seconds 1day", "is not a time");
	refused("--numbers 1,,2", "is not a list of numbers");
	refused("--numbers 5-3", "has a bad range");
	refused("--numbers 0-4294967295", "has a bad range");
	refused("--numbers 3-", "has a bad range");
	refused("--numbers 4,", "is not a list of numbers");
}

static void help_shows_every_option(void **state)
{
	struct opts o;

	(void)state;
	assert_int_equal(parse(&o, "-f --help --nonsense"), 0);
	for (const struct cmd_option *opt = options; opt->name; opt++) {
		assert_non_null(strstr(printed, opt->name));
		assert_non_null(strstr(printed, opt->doc));
	}
	assert_non_null(strstr(printed, "red, green, yellowgreen"));
	assert_int_equal(parse(&o, "-h"), 0);
}

/* Commands that share a table: each shows its own rows and those of all, and takes all, so that it can say why not. */
static void a_row_of_another_command_is_not_shown(void **state)
{
	static const struct cmd_option shared[] = {
		{ "mine", 'm', NULL, "@test for us", cmd_flag, offsetof(struct opts, flag), NULL },
		{ "other", 'o', NULL, "@tester for them", cmd_flag, offsetof(struct opts, flag), NULL },
		{ 0 }
	};
	static const struct cmd_syntax sharing = { "test", "[OPTIONS]", "Tests.", shared, 0 };
	struct opts o;

	(void)state;
	assert_int_equal(parse_with(&sharing, &o, "--help"), 0);
	assert_non_null(strstr(printed, "  -m, --mine   for us\n"));
	assert_null(strstr(printed, "--other"));
	assert_int_equal(parse_with(&sharing, &o, "--list-options"), 0);
	assert_non_null(strstr(printed, "--mine"));
	assert_null(strstr(printed, "--other"));
	assert_int_equal(parse_with(&sharing, &o, "--other"), -1);
	assert_int_equal(o.flag, 1);
}

static void the_option_list_is_for_machines(void **state)
{
	struct opts o;

	(void)state;
	assert_int_equal(parse(&o, "--list-options"), 0);
	assert_non_null(strstr(printed, "--flag\t-f\t\t\n"));
	assert_non_null(strstr(printed, "--choice\t-c\tCOLOUR\tred green yellowgreen\n"));
	assert_non_null(strstr(printed, "--numbers\t\tLIST\t\n"));
	assert_non_null(strstr(printed, "--help\t-h\t\t\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flags_combine),
		cmocka_unit_test(values_attach_every_way),
		cmocka_unit_test(lists_grow),
		cmocka_unit_test(sizes_and_times),
		cmocka_unit_test(ranges),
		cmocka_unit_test(double_dash_ends_options),
		cmocka_unit_test(a_wrapper_leaves_the_program_its_options),
		cmocka_unit_test(unknown_options_name_the_near_ones),
		cmocka_unit_test(bad_values_are_explained),
		cmocka_unit_test(help_shows_every_option),
		cmocka_unit_test(a_row_of_another_command_is_not_shown),
		cmocka_unit_test(the_option_list_is_for_machines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

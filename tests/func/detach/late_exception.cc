/* SPDX-License-Identifier: MIT */
/*
 * late_exception.cc - for late_exception.py: a byte of input to enter functions, and another one to leave them
 * by an exception
 */
#include <cstdio>
#include <stdexcept>
#include <unistd.h>

#define NI extern "C" __attribute__((noinline, noclone))

static void say(const char *s) { puts(s); fflush(stdout); }

NI int thrower(int depth)
{
	char c;
	int n = 0;

	if (depth)
		n = thrower(depth - 1) + 1;
	else
		say("inside");
	if (!depth && read(0, &c, 1) == 1)
		throw std::runtime_error("late");
	return n;
}

NI int catcher()
{
	try {
		return thrower(3) + 1;
	} catch (const std::runtime_error &) {
		say("caught");
	}
	return 0;
}

int main()
{
	char c;

	say("ready");
	while (read(0, &c, 1) == 1)
		catcher();
	return 0;
}

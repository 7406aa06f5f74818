// SPDX-License-Identifier: MIT
/*
 * cleanups.cc - exceptions past many frames whose cleanups call no function, so that walk follows walk without an event in between
 *
 * Linked statically, so that the unwinder's own functions are traced: those of the last walks begin further out than all of the first.
 */
#include <cstdio>
#include <stdexcept>

static volatile int destroyed;

struct guard {
	~guard() { destroyed = destroyed + 1; }
};

__attribute__((noinline)) static void nest(int depth)
{
	guard g;

	if (!depth)
		throw std::runtime_error("x");
	nest(depth - 1);
	destroyed = destroyed + 0;	/* no tail call */
}

int main()
{
	int caught = 0;

	for (int round = 0; round < 20; round++)
		try {
			nest(40);
		} catch (const std::runtime_error &) {
			caught++;
		}
	printf("%d caught, %d destroyed\n", caught, destroyed);
	return 0;
}

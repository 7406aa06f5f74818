// SPDX-License-Identifier: MIT
/* plugin.c - an object that comes and goes */
static volatile int answer;

__attribute__((noinline)) static int plugin_inner(void)
{
	return ++answer;
}

int plugin_answer(void);
int plugin_answer(void)
{
	return plugin_inner() + plugin_inner();
}

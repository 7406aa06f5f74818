/* SPDX-License-Identifier: MIT */
/* option.c - trace_options */
#include "tree/internal.h"

uint32_t option_count(void)
{
	return 0;
}

const char *option_name(uint32_t index)
{
	(void)index;
	return "";
}

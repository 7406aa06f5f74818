/* SPDX-License-Identifier: MIT */
/* nowx.c - runs a program that may not make executable memory writable: nowx PROGRAM... ; 77 if the kernel cannot */
#include <sys/prctl.h>
#include <unistd.h>

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif

int main(int argc, char **argv)
{
	if (argc < 2 || prctl(PR_SET_MDWE, 1, 0, 0, 0))
		return 77;
	execv(argv[1], argv + 1);
	return 1;
}

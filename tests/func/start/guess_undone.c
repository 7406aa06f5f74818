/* SPDX-License-Identifier: MIT */
/*
 * guess_undone.c - static, so that what is hooked is in the program itself: calls all functions of guess.S or before.S, prints its pid
 * and, after a line of input, starts a child
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

extern const char *const first;
extern const int nfunctions;

int main(void)
{
	char line[8];
	pid_t pid;
	int status;

	for (int i = 0; i < nfunctions; i++)
		((void (*)(void))(first + (long)STRIDE * i))();
	printf("%d\n", (int)getpid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	pid = vfork();
	if (!pid)
		_exit(5);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 5 << 8)
		return 2;
	puts("child");
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * init.c - the first process of the guest: runs what /plan lists, tells how each ended, and turns the machine off
 *
 * A line of /plan is a program with its arguments. What it prints goes to the console; behind it stands
 * `guest: status N of LINE`, 128 + a signal's number as shells say it. Who takes longer than PATIENCE_S is ended by SIGKILL.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_S	300	/* as for emulated programs elsewhere: it ends what hangs */
#define MAX_WORDS	15

/* 0: it did well. */
static int run(char *line)
{
	char *argv[MAX_WORDS + 1], copy[256];
	int n = 0, status = 0;
	struct timespec now;
	pid_t pid;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *word = strtok(copy, " "); word && n < MAX_WORDS; word = strtok(NULL, " "))
		argv[n++] = word;
	argv[n] = NULL;
	if (!n)
		return 0;
	clock_gettime(CLOCK_BOOTTIME, &now);
	printf("guest: %ld s: %s\n", (long)now.tv_sec, line);
	pid = fork();
	if (!pid) {
		setpgid(0, 0);
		alarm(PATIENCE_S);	/* kept by execve; whoever blocks it is taken by the host's limit */
		execv(argv[0], argv);
		perror(argv[0]);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) != pid)
		;
	kill(-pid, SIGKILL);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	printf("guest: status %d of %s\n", WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), line);
	return status;
}

/*
 * The end of what the kernel has said; it says nothing by itself (guest.sh), or it would be amid the lines of
 * others.
 */
static void tell_kernel_messages(void)
{
	static char log[1 << 18];
	int n = klogctl(3 /* SYSLOG_ACTION_READ_ALL */, log, sizeof(log) - 1);
	char *from = log + (n > 8192 ? n - 8192 : 0);

	printf("guest: the kernel's last messages:\n%s\n", n > 0 ? from : "none");
}

int main(void)
{
	FILE *plan = fopen("/plan", "r");
	char line[256];
	int bad = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	mount("tmpfs", "/tmp", "tmpfs", 0, NULL);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	mkdir("/dev/shm", 01777);
	mount("tmpfs", "/dev/shm", "tmpfs", 0, NULL);
	if (!plan)
		perror("/plan");
	while (plan && fgets(line, sizeof(line), plan)) {
		line[strcspn(line, "\n")] = '\0';
		bad |= run(line);
	}
	if (bad)
		tell_kernel_messages();
	printf("guest: end\n");
	sync();
	reboot(RB_POWER_OFF);
	return 1;
}

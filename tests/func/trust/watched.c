// SPDX-License-Identifier: MIT
/*
 * watched.c - a process that hears by userfaultfd of all memory that is unmapped, and never answers: so no munmap() ends
 *
 * Usage: watched END. Calls work(). Once that is traced it has the kernel tell it of what was mapped since its start, and
 * says of how many mappings; once the file END is there it exits with 3. 77: the kernel does not offer that.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAPS_MAX	4096

struct map { unsigned long lo, hi; };

static struct map before[MAPS_MAX], after[MAPS_MAX];

__attribute__((noinline)) int work(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

static int read_maps(struct map *m)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	int n = 0;

	while (f && n < MAPS_MAX && fgets(line, sizeof(line), f))
		n += sscanf(line, "%lx-%lx", &m[n].lo, &m[n].hi) == 2;
	if (f)
		fclose(f);
	return n;
}

/* As it is in memory, which somebody else changes. */
static unsigned char first_byte(void)
{
	return *(const volatile unsigned char *)(const void *)work;
}

int main(int argc, char **argv)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_EVENT_UNMAP |
		UFFD_FEATURE_WP_HUGETLBFS_SHMEM };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY), nbefore, nafter, watched = 0;

	if (argc < 2 || fd < 0 || ioctl(fd, UFFDIO_API, &api))
		return 77;
	nbefore = read_maps(before);
	puts("ready");
	fflush(stdout);
	for (unsigned char plain = first_byte(); first_byte() == plain; usleep(1000))
		work(1);
	nafter = read_maps(after);
	for (int i = 0, known; i < nafter; i++) {
		struct uffdio_register r = { { after[i].lo, after[i].hi - after[i].lo }, UFFDIO_REGISTER_MODE_WP, 0 };

		known = 0;
		for (int k = 0; k < nbefore; k++)
			known |= before[k].lo < after[i].hi && after[i].lo < before[k].hi;
		watched += !known && !ioctl(fd, UFFDIO_REGISTER, &r);
	}
	printf("watched %d\n", watched);
	fflush(stdout);
	for (; access(argv[1], F_OK); usleep(1000))
		work(1);
	return 3;
}

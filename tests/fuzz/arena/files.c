/* SPDX-License-Identifier: MIT */
/*
 * files.c - files of a dead session that anybody may have written, as `uft detach` and the next recorder find them
 *
 * usage: files [seconds] [seed]
 *
 * A session's files are made, its board, mail and slices get random words, the files become shorter or longer, others of
 * like names lie beside them. arena_each() opens what makes sense; then all that a session or a guard may touch is
 * touched, up to the last byte of each slice. A run that takes too long is killed by SIGALRM, and one that reads
 * where nothing is dies. The files stand in a folder of their own in /dev/shm, so that no session of others is met.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "control/arena/arena.h"
#include "control/arena/channel.h"
#include "tests/fuzz/words.h"

static uint64_t seed, nopened;

static uint64_t rnd(uint64_t below)
{
	return fuzz_random(&seed, below);
}

static void fail(const char *what)
{
	fprintf(stderr, "files: %s, seed %llu\n", what, (unsigned long long)seed);
	exit(1);
}

/* A word of 4 or 8 bytes somewhere in the first @bytes of the file. */
static void spoil(const char *path, uint64_t bytes)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	size_t size = rnd(2) ? 4 : 8;
	uint64_t at = rnd(bytes / 8) * 8 + (size == 4 ? rnd(2) * 4 : 0), word = 0;

	if (fd < 0 || pread(fd, &word, size, (off_t)at) < 0)
		fail("a file cannot be read");
	word = fuzz_word(&seed, word);
	if (pwrite(fd, &word, size, (off_t)at) != (ssize_t)size)
		fail("a file cannot be written");
	close(fd);
}

static void cut(const char *path)
{
	struct stat st;

	if (!stat(path, &st) && truncate(path, (off_t)(rnd(3) ? rnd((uint64_t)st.st_size) : (uint64_t)st.st_size * 2)))
		fail("a file cannot be cut");
}

/* What a session's heir reads and writes. */
static void touch(struct arena *a, void *arg)
{
	const uint64_t last = a->map->slice_bytes - 1;
	volatile uint64_t sum = 0;

	(void)arg;
	nopened++;
	sum += a->board->session_pid + a->board->guard_pid + a->board->ask[UFT_NASKS - 1].state;
	for (uint32_t i = 0; i < a->map->nslices; i++) {
		struct uft_slice uft_shared *sl;

		if (!arena_has(a, i))
			continue;
		sl = arena_slice(a, i);
		sum += SHARED_LOAD(&sl->state) + SHARED_LOAD(&sl->pid) +
		       *((volatile uint8_t *)shared_address(sl) + last);
		sum += SHARED_LOAD(&a->mail[i / a->map->per_file]->req[UFT_NREQUESTS - 1].state);
		channel_begin(a, i, UFT_CMD_LEAVE, 0, 0);
		sum += SHARED_LOAD(&arena_cmd(a, i)->op);
		arena_is_unclaimed(a, i / a->map->per_file);
	}
	if (nopened % 64 == 0)		/* looks at all processes of the machine, for each family */
		arena_drop_unused(a);
}

static void clear(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

static void run(const char *dir)
{
	const struct uft_session_opts opts = { .ring_bytes = 16384, .sub_bytes = 4096 };
	char board[512], family[512], other[512];
	struct uft_error err = { "" };
	struct arena a;

	if (arena_create(&a, &opts, &err))
		fail(err.text);
	if (arena_claim(&a, 1, 1, 0) == UFT_NO_SLICE)
		fail("no slice");
	snprintf(board, sizeof(board), "%s" UFT_BOARD_SUFFIX, a.path);
	snprintf(family, sizeof(family), "%s" UFT_FAMILY_SUFFIX "0", a.path);
	snprintf(other, sizeof(other), "%s" UFT_FAMILY_SUFFIX "%llu", a.path, (unsigned long long)rnd(100000));
	if (rnd(2) && link(family, other) && access(other, F_OK))
		fail("no other family");
	for (uint64_t n = rnd(4); n--;)
		spoil(board, rnd(2) ? 256 : sizeof(struct uft_arena));
	for (uint64_t n = rnd(8); n--;)
		spoil(family, rnd(2) ? sizeof(struct uft_mail) + sizeof(struct uft_slice) : 65536);
	if (!rnd(8))
		cut(rnd(2) ? board : family);
	arena_each(0, touch, NULL);
	arena_destroy(&a);
	clear(dir);
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 0) : 3, n = 0;
	char top[] = "/dev/shm/uft-fuzz-XXXXXX", dir[64];
	time_t begin = time(NULL);
	struct statfs fs;
	int status;
	pid_t pid;

	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)begin;
	if (!mkdtemp(top) || statfs(top, &fs) || fs.f_type != TMPFS_MAGIC) {
		printf("/dev/shm is no tmpfs, or not writable\n");
		return 77;
	}
	snprintf(dir, sizeof(dir), "%s/uft", top);
	setenv("XDG_RUNTIME_DIR", top, 1);
	pid = fork();
	for (; !pid && ((uint64_t)(time(NULL) - begin) < seconds || !nopened); n++) {
		alarm(60);
		run(dir);
	}
	if (!pid) {
		printf("%llu sessions found, %llu opened\n", (unsigned long long)n, (unsigned long long)nopened);
		fflush(stdout);
		_exit(!n || !nopened);
	}
	waitpid(pid, &status, 0);
	clear(dir);
	rmdir(dir);
	rmdir(top);
	if (status)
		fprintf(stderr, "files: status %x, began with seed %llu\n", (unsigned)status, (unsigned long long)seed);
	return status != 0;
}

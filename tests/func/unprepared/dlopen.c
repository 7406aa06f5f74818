/* SPDX-License-Identifier: MIT */
/* dlopen.c - a library comes and goes while other threads never stop calling */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static volatile int stop;

static void *spin(void *arg)
{
	while (!stop)
		;
	return arg;
}

int main(int argc, char **argv)
{
	unsigned long sum = 0, unused;
	pthread_t thread[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, spin, NULL);
	for (int i = 0; i < 20 && argc > 1; i++) {
		void *h = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
		int (*run)(int, unsigned long *) = h ? (int (*)(int, unsigned long *))dlsym(h, "lib_run") : NULL;

		if (!run)
			return 1;
		sum += (unsigned long)run(5, &unused);
		dlclose(h);
	}
	stop = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	printf("%lu\n", sum);
	return 0;
}

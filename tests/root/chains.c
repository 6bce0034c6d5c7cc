/*
 * Threads that wait for each other in known ways, for the tests of the path across tasks. The first argument chooses
 * (two more are other names for `late` and `holder`):
 *
 *   mutex     `late` wants a mutex that `holder` has, which computes on CPU 1 until it has had 40 ms of it
 *   sleeper   the same, and the holder sleeps 60 ms meanwhile
 *   pipes     `late` reads from `middle`, which reads from `worker`, which computes for 120 ms
 *   fsync     `late` wants a mutex, and its holder writes `synced` in the current directory and syncs it, four times
 *   timer     `late` sleeps 20 ms at a time
 *
 * Prints `ready PID TID_OF_LATE` once, and does it again and again with pauses; of each fsync its beginning and end.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int to_middle[2], to_late[2], ask_worker[2], ask_middle[2], go[2];
static const char *way, *late_name = "late", *holder_name = "holder";
static volatile int tid_of_late;

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void nap(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

static void compute(long ms)
{
	struct timespec now;
	long long start, at;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	start = at = now.tv_sec * 1000000000LL + now.tv_nsec;
	while (at - start < ms * 1000000LL) {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
		at = now.tv_sec * 1000000000LL + now.tv_nsec;
	}
}

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void sync_file(void)
{
	static char block[1 << 20];
	int file = open("synced", O_WRONLY | O_CREAT | O_TRUNC, 0600), i;
	long long began[4], ended[4];

	for (i = 0; i < 4; i++) {
		if (write(file, block, sizeof(block)) < 0)
			exit(1);
		began[i] = now_ns();
		if (fsync(file))
			exit(1);
		ended[i] = now_ns();
	}
	close(file);
	for (i = 0; i < 4; i++)
		printf("%lld %lld\n", began[i], ended[i]);
	fflush(stdout);
}

/* Takes the mutex, tells `late` to want it, and lets it wait. */
static void *holder(void *unused)
{
	pthread_setname_np(pthread_self(), holder_name);
	pin(1);
	for (;;) {
		pthread_mutex_lock(&mutex);
		if (write(go[1], "x", 1) != 1)
			exit(1);
		if (!strcmp(way, "mutex"))
			compute(40);
		else if (!strcmp(way, "sleeper"))
			nap(60);
		else
			sync_file();
		pthread_mutex_unlock(&mutex);
		nap(30);
	}
	return unused;
}

static void *pass(void *arg)
{
	int is_worker = !!arg;
	char byte;

	pthread_setname_np(pthread_self(), is_worker ? "worker" : "middle");
	pin(1);
	for (;;) {
		if (read(is_worker ? ask_worker[0] : ask_middle[0], &byte, 1) != 1)
			exit(1);
		if (is_worker) {
			compute(120);
		} else if (write(ask_worker[1], "x", 1) != 1 || read(to_middle[0], &byte, 1) != 1) {
			exit(1);
		}
		if (write(is_worker ? to_middle[1] : to_late[1], "x", 1) != 1)
			exit(1);
	}
	return NULL;
}

static void *late(void *unused)
{
	char byte;

	pthread_setname_np(pthread_self(), late_name);
	pin(0);
	tid_of_late = syscall(SYS_gettid);
	for (;;) {
		if (!strcmp(way, "timer")) {
			nap(20);
		} else if (!strcmp(way, "pipes")) {
			if (write(ask_middle[1], "x", 1) != 1 || read(to_late[0], &byte, 1) != 1)
				exit(1);
			nap(30);
		} else {
			if (read(go[0], &byte, 1) != 1)
				exit(1);
			pthread_mutex_lock(&mutex);
			pthread_mutex_unlock(&mutex);
		}
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if ((argc != 2 && argc != 4) || pipe(to_middle) || pipe(to_late) || pipe(ask_worker) || pipe(ask_middle) || pipe(go))
		return 1;
	way = argv[1];
	if (argc == 4) {
		late_name = argv[2];
		holder_name = argv[3];
	}
	pthread_create(&thread, NULL, late, NULL);
	while (!tid_of_late)
		usleep(1000);
	if (!strcmp(way, "pipes")) {
		pthread_create(&thread, NULL, pass, NULL);
		pthread_create(&thread, NULL, pass, (void *)1);
	} else if (strcmp(way, "timer")) {
		pthread_create(&thread, NULL, holder, NULL);
	}
	printf("ready %d %d\n", getpid(), tid_of_late);
	fflush(stdout);
	for (;;)
		pause();
}

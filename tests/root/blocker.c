/* Blocks in ways that are known by construction: the first argument says how. For tests/root/test_offcpu.py. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* Nothing is inlined or becomes a jump: each function is a frame. */
#define FRAME __attribute__((noinline))
#define STAY __asm__ volatile("")

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static FRAME void rest(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&time, NULL);
	STAY;
}

static FRAME void take_a_nap(void)
{
	rest(10);
	STAY;
}

static FRAME void nap(void)
{
	for (;;)
		take_a_nap();
}

static FRAME void lock_and_unlock(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	STAY;
}

static FRAME void want_the_lock(void)
{
	lock_and_unlock();
	STAY;
}

static void *holder(void *unused)
{
	prctl(PR_SET_NAME, "holder");
	for (;;) {
		pthread_mutex_lock(&mutex);
		rest(20);
		pthread_mutex_unlock(&mutex);
		rest(5);
	}
	return unused;
}

static FRAME void contend(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, holder, NULL);
	for (;;) {
		rest(2);
		want_the_lock();
	}
}

/* vfork(2) waits for its child where no signal but a deadly one wakes it. */
static FRAME void wait_for_child(void)
{
	if (!vfork()) {
		usleep(30000);
		_exit(0);
	}
	STAY;
}

static FRAME void fork_for_ever(void)
{
	for (;;)
		wait_for_child();
}

/* push rbp; mov rbp, rsp; call rdi; pop rbp; ret */
static const unsigned char calls_its_argument[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };

static FRAME void run_made_code(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char name[64];
	FILE *file;

	memcpy(page, calls_its_argument, sizeof(calls_its_argument));
	snprintf(name, sizeof(name), "/tmp/perf-%d.map", getpid());
	file = fopen(name, "w");
	fprintf(file, "%lx %zx made_at_run_time\n", (unsigned long)page, sizeof(calls_its_argument));
	fclose(file);
	for (;;)
		((void (*)(void (*)(void)))page)(take_a_nap);
}

int main(int argc, char **argv)
{
	alarm(60);
	if (argc != 2)
		return 2;
	puts("ready");
	fflush(stdout);
	switch (argv[1][0]) {
	case 'n':
		nap();
		break;
	case 'l':
		contend();
		break;
	case 'v':
		fork_for_ever();
		break;
	case 'j':
		run_made_code();
		break;
	}
	return 1;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A thread leaves its CPU, to sleep or not, of a cgroup that a quota holds back. leaves() of bpf/task/btf.c is the real
 * one, the maps and the task are these: all fields of the task lie at its first byte. Prints what is wrong.
 */
#define TASK_THROTTLED_OFFSET 0
#include "task/btf.c"

extern int printf(const char *format, ...);

static struct task_thread thread;

static struct task_thread *find(u32 *tid)
{
	return &thread;
}

static void *nothing(void *key)
{
	return NULL;
}

u64 bpf_ktime_get_ns(void)
{
	return 500;
}

u32 bpf_get_smp_processor_id(void)
{
	return 0;
}

u64 bpf_get_current_pid_tgid(void)
{
	return 0;
}

u64 bpf_get_current_task(void)
{
	return 0;
}

int bpf_get_current_comm(void *to, u32 size)
{
	return 0;
}

int bpf_probe_read_kernel(void *to, u32 size, const void *from)
{
	__builtin_memcpy(to, from, size);
	return 0;
}

static int check(const char *what, bool held, u64 waking_ns, bool preempt, u32 state, u32 expected)
{
	static struct task_config settings;
	u64 task[8] = { held };

	thread = (struct task_thread){ .state = THREAD_RUNNING, .since_ns = 100, .waking_ns = waking_ns, .tid = 5 };
	leaves(&settings, (u64)task, (u64)task, preempt, state, 400);
	if (thread.state == expected)
		return 0;
	printf("%s: state %u, not %u\n", what, thread.state, expected);
	return 1;
}

int main(void)
{
	threads.lookup = find;
	totals.lookup = (void *)nothing;
	cpus.lookup = (void *)nothing;
	peers.lookup = (void *)nothing;
	peers.insert = (void *)nothing;
	return check("sleeps", true, 0, false, 1, THREAD_SLEEPING) +
	       check("preempted", false, 0, true, 0, THREAD_RUNNABLE) +
	       check("preempted and held", true, 0, true, 0, THREAD_THROTTLED) +
	       check("woken on its way out", false, 300, false, 1, THREAD_RUNNABLE) +
	       check("woken on its way out and held", true, 300, false, 1, THREAD_THROTTLED);
}

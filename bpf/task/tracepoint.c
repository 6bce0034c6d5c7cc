/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The task view on kernels without BTF: perf tracepoints, see scheduler/tracepoint.c. A record names tasks by tid
 * alone. Of the process are those that user space has told, and those that were once its current task. All programs
 * return 1, as there.
 */

#include <linux/compiler.h>
#include <linux/types.h>

#include "../memory.h"
#include "../record.h"
#include "task.h"

static __always_inline u32 state_of(u32 state)
{
	if (!(state & REPORTED_RUNNING))
		return THREAD_RUNNABLE;
	if (state & REPORTED_DEAD)
		return THREAD_ENDED;
	if (state & (REPORTED_STOPPED | REPORTED_TRACED))
		return THREAD_STOPPED;
	if (state & REPORTED_UNINTERRUPTIBLE)
		return THREAD_UNINTERRUPTIBLE;
	return THREAD_SLEEPING;
}

/* Is it a thread that is looked at, and not the current one? */
static __always_inline bool is_known(struct task_config *settings, u32 tid)
{
	if (settings->tid)
		return settings->tid == tid;
	return threads.lookup(&tid);
}

static __always_inline void leaves(struct task_config *settings, void *ctx, u64 now)
{
	u32 state = state_of(FIELD(u32, ctx, SWITCH_PREV_STATE_FIELD)), next = FIELD(u32, ctx, SWITCH_NEXT_PID_FIELD);
	u32 tid = FIELD(u32, ctx, SWITCH_PREV_PID_FIELD);
	struct task_thread *thread = switch_out(settings, tid, state, state == THREAD_RUNNABLE, 0, now);
	u64 comm[2];

	if (!thread)
		return;
	COPY_NAME(comm, ctx, SWITCH_PREV_COMM_FIELD);
	__builtin_memcpy(thread->comm, comm, COMM_BYTES);
	if (state != THREAD_RUNNABLE || !next)
		return;
	thread->preemptor_tid = next;
	COPY_NAME(thread->preemptor_comm, ctx, SWITCH_NEXT_COMM_FIELD);
	count_peer(PEER_PREEMPTOR, 0, next, thread->preemptor_comm, 1, 0);
}

int tracepoint_sched_switch(void *ctx)
{
	struct task_config *settings = configuration();
	u64 now;

	if (!settings || !settings->tgid)
		return 1;
	now = bpf_ktime_get_ns();
	/* The current task is the one that leaves. */
	if (settings_for_current())
		leaves(settings, ctx, now);
	if (is_known(settings, FIELD(u32, ctx, SWITCH_NEXT_PID_FIELD)))
		switch_in(settings, FIELD(u32, ctx, SWITCH_NEXT_PID_FIELD), 0, now);
	return 1;
}

#ifdef HAVE_SCHED_WAKING
int tracepoint_sched_waking(void *ctx)
{
	struct task_config *settings = configuration();
	u32 tid = FIELD(u32, ctx, WAKING_PID_FIELD);
	struct task_thread *thread;
	u64 comm[2];

	if (!settings || !settings->tgid)
		return 1;
	thread = is_known(settings, tid) ? threads.lookup(&tid) : NULL;
	/* One that is queued, or runs, is not woken by this: the record does not tell it, its state does. */
	if (thread && thread->state != THREAD_RUNNING && thread->state != THREAD_RUNNABLE)
		woken(settings, tid, thread->state, bpf_ktime_get_ns());
	if (settings_for_current()) {
		COPY_NAME(comm, ctx, WAKING_COMM_FIELD);
		wakes(tid, comm);
	}
	return 1;
}
#endif

#ifdef HAVE_SCHED_MIGRATE_TASK
int tracepoint_sched_migrate_task(void *ctx)
{
	struct task_config *settings = configuration();
	u32 tid = FIELD(u32, ctx, MIGRATE_PID_FIELD);
	struct task_thread *thread;

	if (!settings || !settings->tgid || !is_known(settings, tid))
		return 1;
	thread = threads.lookup(&tid);
	if (thread)
		thread->migrations++;
	return 1;
}
#endif

#ifdef HAVE_SCHED_PROCESS_EXEC
int tracepoint_sched_process_exec(void *ctx)
{
	struct task_config *settings = settings_for_current();

	if (settings)
		renamed(settings, FIELD(u32, ctx, EXEC_OLD_PID_FIELD), 0, bpf_ktime_get_ns());
	return 1;
}
#endif

#ifdef HAVE_SYS_ENTER
int tracepoint_sys_enter(void *ctx)
{
	struct task_config *settings = settings_for_current();
	u64 number = FIELD(u64, ctx, SYS_ENTER_ID_FIELD);
	struct task_call *call;

	if (!settings)
		return 1;
	if (number >= OTHER_TABLE)
		number = OTHER_TABLE;
	call = call_of(number);
	if (call)
		call_begins(settings, number, call->read_argument ? IO_UNKNOWN + 1 : 0,
			    call->write_argument ? IO_UNKNOWN + 1 : 0, bpf_ktime_get_ns());
	return 1;
}
#endif

#ifdef HAVE_SYS_EXIT
int tracepoint_sys_exit(void *ctx)
{
	struct task_config *settings = settings_for_current();

	if (settings)
		call_ends(settings, FIELD(u64, ctx, SYS_EXIT_RET_FIELD), bpf_ktime_get_ns());
	return 1;
}
#endif

#ifdef HAVE_SOCK_SEND_LENGTH
int tracepoint_sock_send_length(void *ctx)
{
	if (settings_for_current())
		count_traffic(FIELD(u64, ctx, SOCK_SEND_LENGTH_SK_FIELD),
			      FIELD(u16, ctx, SOCK_SEND_LENGTH_PROTOCOL_FIELD),
			      FIELD(u16, ctx, SOCK_SEND_LENGTH_FAMILY_FIELD),
			      FIELD(u32, ctx, SOCK_SEND_LENGTH_RET_FIELD), false);
	return 1;
}
#endif

#ifdef HAVE_SOCK_RECV_LENGTH
int tracepoint_sock_recv_length(void *ctx)
{
	if (settings_for_current() && !(FIELD(u32, ctx, SOCK_RECV_LENGTH_FLAGS_FIELD) & MSG_PEEK))
		count_traffic(FIELD(u64, ctx, SOCK_RECV_LENGTH_SK_FIELD),
			      FIELD(u16, ctx, SOCK_RECV_LENGTH_PROTOCOL_FIELD),
			      FIELD(u16, ctx, SOCK_RECV_LENGTH_FAMILY_FIELD),
			      FIELD(u32, ctx, SOCK_RECV_LENGTH_RET_FIELD), true);
	return 1;
}
#endif

#ifdef HAVE_INET_SOCK_SET_STATE
int tracepoint_inet_sock_set_state(void *ctx)
{
	u64 sock = FIELD(u64, ctx, INET_SOCK_SET_STATE_SKADDR_FIELD);
	u32 old_state = FIELD(u32, ctx, INET_SOCK_SET_STATE_OLDSTATE_FIELD);
	u32 new_state = FIELD(u32, ctx, INET_SOCK_SET_STATE_NEWSTATE_FIELD);
	u32 local = FIELD(u16, ctx, INET_SOCK_SET_STATE_SPORT_FIELD);
	struct tcp_change *change;

	if (old_state == new_state || !is_open() || !is_mine(sock, old_state, new_state, local, false))
		return 1;
	change = begin_change(old_state, new_state);
	if (!change)
		return 1;
	change_of_record(change, ctx);
	end_change(change, sock);
	return 1;
}
#endif

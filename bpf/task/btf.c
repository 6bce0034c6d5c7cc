/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The task view on kernels with BTF: typed raw tracepoints, see scheduler/btf.c, and functions where there is no
 * tracepoint.
 */

#include <linux/compiler.h>
#include <linux/types.h>

#include "../descriptor.h"
#include "../memory.h"
#include "../task_struct.h"
#include "held.h"
#include "task.h"

#define TID(task) FIELD(u32, task, TASK_TID_OFFSET)
#define TGID(task) FIELD(u32, task, TASK_TGID_OFFSET)

#define STATE_STUCK (STATE_RTLOCK_WAIT | STATE_FROZEN)

static __always_inline u32 state_of(u32 state)
{
	if (state & STATE_DEAD)
		return THREAD_ENDED;
	if (state & (STATE_STOPPED | STATE_TRACED))
		return THREAD_STOPPED;
	if (state & STATE_STUCK || ((state & STATE_UNINTERRUPTIBLE) && !(state & STATE_NOLOAD)))
		return THREAD_UNINTERRUPTIBLE;
	return THREAD_SLEEPING;
}

static __always_inline u32 task_state(u64 task)
{
	return FIELD(u32, task, TASK_STATE_OFFSET);
}

static __always_inline u64 exec_ns(u64 task)
{
#ifdef TASK_EXEC_OFFSET
	return FIELD(u64, task, TASK_EXEC_OFFSET);
#else
	return 0;
#endif
}

static __always_inline void leaves(struct task_config *settings, u64 prev, u64 next, bool preempt, u32 state, u64 now)
{
	bool involuntary = preempt || !state;
	u32 left = involuntary ? THREAD_RUNNABLE : state_of(state);
	struct task_thread *thread = switch_out(settings, TID(prev), left, involuntary, exec_ns(prev), now);

	if (!thread)
		return;
	thread->min_flt = FIELD(u64, prev, TASK_MIN_FLT_OFFSET);
	thread->maj_flt = FIELD(u64, prev, TASK_MAJ_FLT_OFFSET);
	*(u64 *)thread->comm = FIELD(u64, prev, TASK_COMM_OFFSET);
	*(u64 *)(thread->comm + 8) = FIELD(u64, prev, TASK_COMM_OFFSET + 8);
	/* Also of one that was woken on its way out: nothing else tells when its wait begins. */
	if (thread->state == THREAD_RUNNABLE)
		note_held(thread, prev, now);
	if (!involuntary || thread->state != THREAD_RUNNABLE || !TID(next))
		return;
	thread->preemptor_tid = TID(next);
	thread->preemptor_comm[0] = FIELD(u64, next, TASK_COMM_OFFSET);
	thread->preemptor_comm[1] = FIELD(u64, next, TASK_COMM_OFFSET + 8);
	count_peer(PEER_PREEMPTOR, 0, TID(next), thread->preemptor_comm, 1, 0);
}

int btf_sched_switch(u64 *ctx)
{
	u64 prev = ctx[1], next = ctx[2];
	struct task_config *settings = configuration();
	struct task_thread *thread;
	bool left, came;
	u32 state;
	u64 now;

	if (!settings || !settings->tgid)
		return 0;
	left = is_aimed_at(settings, TID(prev), TGID(prev));
	came = is_aimed_at(settings, TID(next), TGID(next));
	if (!left && !came)
		return 0;
#ifdef SWITCH_HAS_STATE
	state = ctx[3];
#else
	state = task_state(prev);
#endif
	now = bpf_ktime_get_ns();
	if (left)
		leaves(settings, prev, next, (bool)ctx[0], state & ~(1U << 31), now);
	if (!came)
		return 0;
	thread = thread_of(settings, TID(next), THREAD_RUNNABLE);
	if (thread)
		split_wait(thread, next, now);
	switch_in(settings, TID(next), exec_ns(next), now);
	return 0;
}

static __always_inline bool is_queued(u64 task)
{
#ifdef TASK_DELAYED_OFFSET
	/* Since 6.12 a sleeper may stay on the queue until it is picked. */
	if (FIELD(u8, task, TASK_DELAYED_OFFSET))
		return false;
#endif
	return FIELD(TASK_ON_RQ_TYPE, task, TASK_ON_RQ_OFFSET);
}

/* If a thread waits since `now`, that is noted. */
static __always_inline void waits_since(struct task_config *settings, u64 task, u64 now)
{
	struct task_thread *thread = thread_of(settings, TID(task), THREAD_RUNNABLE);

	if (thread && thread->state == THREAD_RUNNABLE && thread->since_ns == now)
		note_held(thread, task, now);
}

int btf_sched_waking(u64 *ctx)
{
	u64 task = ctx[0];
	struct task_config *mine = settings_for(TID(task), TGID(task));
	u64 comm[2], now;

	if (mine && !is_queued(task)) {
		now = bpf_ktime_get_ns();
		woken(mine, TID(task), state_of(task_state(task)), now);
		waits_since(mine, task, now);
	}
	if (settings_for_current()) {
		comm[0] = FIELD(u64, task, TASK_COMM_OFFSET);
		comm[1] = FIELD(u64, task, TASK_COMM_OFFSET + 8);
		wakes(TID(task), comm);
	}
	return 0;
}

int btf_sched_wakeup_new(u64 *ctx)
{
	u64 task = ctx[0];
	struct task_config *settings = configuration();
	struct task_totals *totals = all();
	u64 now;

	if (!settings || !totals || !settings->tgid || settings->tgid != TGID(task))
		return 0;
	__sync_fetch_and_add(&totals->threads_started, 1);
	if (!is_aimed_at(settings, TID(task), TGID(task)))
		return 0;
	now = bpf_ktime_get_ns();
	born(settings, TID(task), now);
	waits_since(settings, task, now);
	return 0;
}

int btf_sched_migrate_task(u64 *ctx)
{
	u64 task = ctx[0];
	struct task_config *settings = settings_for(TID(task), TGID(task));
	struct task_thread *thread;

	if (!settings)
		return 0;
	thread = thread_of(settings, TID(task), THREAD_RUNNABLE);
	if (!thread)
		return 0;
	thread->migrations++;
	move_held(thread, task, ctx[1], bpf_ktime_get_ns());
	return 0;
}

#ifdef HAVE_ITER_TASK
/* Of an iterator over all tasks, or those of the process. */
int iter_task(u64 *ctx)
{
	u64 meta = ctx[0], task = ctx[1];
	struct task_config *settings = configuration();
	struct task_thread *thread;
	u32 tid;

	if (!task || !settings)
		return 0;
	tid = TID(task);
	if (!is_aimed_at(settings, tid, TGID(task)))
		return 0;
	thread = threads.lookup(&tid);
	if (!thread)
		return 0;
	note_first(thread, task);
	tell_held(FIELD(u64, meta, 0), thread, task);
	return 0;
}
#endif

int btf_sched_process_exit(u64 *ctx)
{
	u64 task = ctx[0];
	struct task_config *settings = settings_for(TID(task), TGID(task));
	struct task_thread *thread;

	if (!settings)
		return 0;
	thread = thread_of(settings, TID(task), THREAD_RUNNING);
	if (thread) {
		thread->exit_code = FIELD(u32, task, TASK_EXIT_CODE_OFFSET);
		thread->exiting = 1;
		/* exit and exit_group do not return. */
		thread->call = NO_CALL;
	}
	return 0;
}

int btf_sched_process_exec(u64 *ctx)
{
	struct task_config *settings = settings_for_current();

	if (settings)
		renamed(settings, ctx[1], exec_ns(ctx[0]), bpf_ktime_get_ns());
	return 0;
}

int btf_sys_enter(u64 *ctx)
{
	struct task_config *settings = settings_for_current();
	u32 read_kind = 0, write_kind = 0;
	u32 number;

	if (!settings)
		return 0;
	number = is_of_other_table(ctx[1]) ? OTHER_TABLE : ctx[1];
#ifdef REGS_ARGUMENT_0_OFFSET
	struct task_call *call = call_of(number);

	if (call && call->read_argument)
		read_kind = kind_of(argument(ctx[0], call->read_argument));
	if (call && call->write_argument)
		write_kind = kind_of(argument(ctx[0], call->write_argument));
#endif
	call_begins(settings, number, read_kind, write_kind, bpf_ktime_get_ns());
	return 0;
}

int btf_sys_exit(u64 *ctx)
{
	struct task_config *settings = settings_for_current();

	if (settings)
		call_ends(settings, ctx[1], bpf_ktime_get_ns());
	return 0;
}

int fentry_handle_mm_fault(u64 *ctx)
{
	struct task_config *settings = settings_for_current();
	struct task_thread *thread;

	if (!settings)
		return 0;
	thread = thread_of(settings, bpf_get_current_pid_tgid(), THREAD_RUNNING);
	if (thread)
		thread->fault_enter_ns = bpf_ktime_get_ns();
	return 0;
}

int fexit_handle_mm_fault(u64 *ctx)
{
	struct task_config *settings = settings_for_current();
	struct task_thread *thread;

	if (!settings)
		return 0;
	thread = thread_of(settings, bpf_get_current_pid_tgid(), THREAD_RUNNING);
	if (thread && thread->fault_enter_ns) {
		thread->fault_ns += bpf_ktime_get_ns() - thread->fault_enter_ns;
		thread->fault_enter_ns = 0;
	}
	return 0;
}

#ifdef SOCK_FAMILY_OFFSET

static __always_inline void count_sock(u64 sock, s32 result, bool received)
{
	count_traffic(sock, FIELD(u16, sock, SOCK_PROTOCOL_OFFSET), FIELD(u16, sock, SOCK_FAMILY_OFFSET), result,
		      received);
}

int btf_sock_send_length(u64 *ctx)
{
	if (settings_for_current())
		count_sock(ctx[0], ctx[1], false);
	return 0;
}

int btf_sock_recv_length(u64 *ctx)
{
	if (settings_for_current() && !(ctx[2] & MSG_PEEK))
		count_sock(ctx[0], ctx[1], true);
	return 0;
}

/* Kernels before 6.3 have no such tracepoints: functions with (struct socket *, struct msghdr *, size[, flags]). */
#define SOCK_OF(socket) FIELD(u64, socket, SOCKET_SOCK_OFFSET)

int fexit_inet_sendmsg(u64 *ctx)
{
	if (settings_for_current())
		count_sock(SOCK_OF(ctx[0]), ctx[3], false);
	return 0;
}

int fexit_inet6_sendmsg(u64 *ctx)
{
	if (settings_for_current())
		count_sock(SOCK_OF(ctx[0]), ctx[3], false);
	return 0;
}

int fexit_inet_recvmsg(u64 *ctx)
{
	if (settings_for_current() && !(ctx[3] & MSG_PEEK))
		count_sock(SOCK_OF(ctx[0]), ctx[4], true);
	return 0;
}

int fexit_inet6_recvmsg(u64 *ctx)
{
	if (settings_for_current() && !(ctx[3] & MSG_PEEK))
		count_sock(SOCK_OF(ctx[0]), ctx[4], true);
	return 0;
}

static __always_inline bool is_known_inode(u64 sock)
{
	u64 socket = FIELD(u64, sock, SOCK_SOCKET_OFFSET), number = 0;

	if (!socket)
		return false;
	bpf_probe_read_kernel(&number, sizeof(number), (void *)(socket + SOCKET_INODE_OFFSET + INODE_NUMBER_OFFSET));
	return number && inodes.lookup(&number);
}

int btf_inet_sock_set_state(u64 *ctx)
{
	u64 sock = ctx[0];
	u32 local = FIELD(u16, sock, SOCK_LOCAL_PORT_OFFSET);
	struct tcp_change *change;

	if (ctx[1] == ctx[2] || !is_open() || !is_mine(sock, ctx[1], ctx[2], local, is_known_inode(sock)))
		return 0;
	change = begin_change(ctx[1], ctx[2]);
	if (!change)
		return 0;
	change_of_socket(change, sock);
	end_change(change, sock);
	return 0;
}

#endif

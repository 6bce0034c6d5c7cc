/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Activity on kernels without BTF: perf tracepoints, see scheduler/tracepoint.c. Faults, accepts and round-trip times have
 * none. All programs return 1, as there.
 */

#include <linux/compiler.h>
#include <linux/types.h>

#include "../memory.h"
#include "../record.h"
#include "activity.h"

#define GET_CURRENT_CGROUP_ID 80 /* BPF_FUNC_get_current_cgroup_id: of cgroup v2 */

static __always_inline struct subject this_task(void)
{
	struct subject who = { .tid = bpf_get_current_pid_tgid() };

	return who;
}

static __always_inline u64 start_of(struct subject *who)
{
	return 0;
}

static __always_inline void describe(struct subject *who, struct activity_task *slot)
{
	slot->tgid = bpf_get_current_pid_tgid() >> 32;
	bpf_get_current_comm(slot->comm, sizeof(slot->comm));
	/* Of other threads user space looks it up. */
	if (slot->tgid == who->tid)
		__builtin_memcpy(slot->process, slot->comm, COMM_BYTES);
#ifdef TELLS_CGROUP
	u64 (*get_current_cgroup_id)(void) = (void *)GET_CURRENT_CGROUP_ID;

	slot->cgroup_id = get_current_cgroup_id();
#endif
}

static __always_inline void note_beginning(struct subject *who, struct activity_task *slot)
{
}

static __always_inline void note_faults(struct subject *who, struct activity_task *slot)
{
}

static __always_inline bool segments_of(u64 sock, u32 *in, u32 *out)
{
	return false;
}

static __always_inline bool is_closed(u64 sock)
{
	return false;
}

static __always_inline u64 tcp_socket_of(u64 descriptor)
{
	return 0;
}

#ifdef HAVE_SCHED_PROCESS_EXIT
int tracepoint_sched_process_exit(void *ctx)
{
	exits();
	return 1;
}
#endif

#ifdef HAVE_SCHED_PROCESS_EXEC
int tracepoint_sched_process_exec(void *ctx)
{
	execs(FIELD(u32, ctx, EXEC_OLD_PID_FIELD), bpf_get_current_pid_tgid());
	return 1;
}
#endif

#ifdef HAVE_SYS_ENTER
int tracepoint_sys_enter(void *ctx)
{
	struct activity_config *settings = configuration();
	u64 number = FIELD(u64, ctx, SYS_ENTER_ID_FIELD);
	struct descriptors used = {};
	struct activity_task *slot;
	u32 traits;

	if (!settings)
		return 1;
	slot = slot_here(settings);
	if (!slot)
		return 1;
	/* What has ended makes no calls: it is another task of the same number, and goes on in its row. */
	slot->exit_epoch = 0;
	if (number >= OTHER_TABLE)
		number = OTHER_TABLE;
	traits = traits_of(settings, number);
	used.read_kind = traits & TRAIT_READS ? IO_UNKNOWN + 1 : 0;
	used.write_kind = traits & TRAIT_WRITES ? IO_UNKNOWN + 1 : 0;
	call_begins(settings, slot, number, traits, &used);
	return 1;
}
#endif

#ifdef HAVE_SYS_EXIT
int tracepoint_sys_exit(void *ctx)
{
	struct activity_config *settings = configuration();

	if (settings)
		call_ends(settings, FIELD(u64, ctx, SYS_EXIT_RET_FIELD));
	return 1;
}
#endif

#ifdef HAVE_MM_VMSCAN_DIRECT_RECLAIM_BEGIN
int tracepoint_mm_vmscan_direct_reclaim_begin(void *ctx)
{
	reclaim_begins();
	return 1;
}
#endif

#ifdef HAVE_MM_VMSCAN_DIRECT_RECLAIM_END
int tracepoint_mm_vmscan_direct_reclaim_end(void *ctx)
{
	reclaim_ends();
	return 1;
}
#endif

#ifdef HAVE_MM_VMSCAN_MEMCG_RECLAIM_BEGIN
int tracepoint_mm_vmscan_memcg_reclaim_begin(void *ctx)
{
	reclaim_begins();
	return 1;
}
#endif

#ifdef HAVE_MM_VMSCAN_MEMCG_RECLAIM_END
int tracepoint_mm_vmscan_memcg_reclaim_end(void *ctx)
{
	reclaim_ends();
	return 1;
}
#endif

#ifdef HAVE_MM_FILEMAP_ADD_TO_PAGE_CACHE
int tracepoint_mm_filemap_add_to_page_cache(void *ctx)
{
	count_page_cache();
	return 1;
}
#endif

#if defined(HAVE_SOCK_SEND_LENGTH) || defined(HAVE_SOCK_RECV_LENGTH)
static __always_inline void count_message(u64 sock, u32 protocol, u32 family, s32 bytes, bool received)
{
	struct activity_config *settings = configuration();
	struct activity_task *slot;

	if (!settings || (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP) ||
	    (family != AF_INET && family != AF_INET6))
		return;
	slot = slot_here(settings);
	if (!slot)
		return;
	if (protocol == IPPROTO_UDP)
		count_udp(slot, bytes, received);
	else if (received)
		count_tcp_received(slot, bytes);
	else
		count_tcp_sent(slot, sock, bytes, 0);
}
#endif

#ifdef HAVE_SOCK_SEND_LENGTH
int tracepoint_sock_send_length(void *ctx)
{
	count_message(FIELD(u64, ctx, SOCK_SEND_LENGTH_SK_FIELD), FIELD(u16, ctx, SOCK_SEND_LENGTH_PROTOCOL_FIELD),
		      FIELD(u16, ctx, SOCK_SEND_LENGTH_FAMILY_FIELD), FIELD(u32, ctx, SOCK_SEND_LENGTH_RET_FIELD),
		      false);
	return 1;
}
#endif

#ifdef HAVE_SOCK_RECV_LENGTH
int tracepoint_sock_recv_length(void *ctx)
{
	if (!(FIELD(u32, ctx, SOCK_RECV_LENGTH_FLAGS_FIELD) & MSG_PEEK))
		count_message(FIELD(u64, ctx, SOCK_RECV_LENGTH_SK_FIELD),
			      FIELD(u16, ctx, SOCK_RECV_LENGTH_PROTOCOL_FIELD),
			      FIELD(u16, ctx, SOCK_RECV_LENGTH_FAMILY_FIELD),
			      FIELD(u32, ctx, SOCK_RECV_LENGTH_RET_FIELD), true);
	return 1;
}
#endif

#ifdef HAVE_INET_SOCK_SET_STATE
static __always_inline void note_change(void *ctx, u32 old_state, u32 new_state)
{
	struct tcp_change *change = begin_change(old_state, new_state);

	if (!change)
		return;
	change_of_record(change, ctx);
	end_change(change);
}

int tracepoint_inet_sock_set_state(void *ctx)
{
	u32 old_state = FIELD(u32, ctx, INET_SOCK_SET_STATE_OLDSTATE_FIELD);
	u32 new_state = FIELD(u32, ctx, INET_SOCK_SET_STATE_NEWSTATE_FIELD);

	if (FIELD(u16, ctx, INET_SOCK_SET_STATE_PROTOCOL_FIELD) != IPPROTO_TCP)
		return 1;
	note_change(ctx, old_state, new_state);
	count_transition(FIELD(u64, ctx, INET_SOCK_SET_STATE_SKADDR_FIELD), old_state, new_state);
	return 1;
}
#endif

/* The record does not tell of how many segments it is. */
#ifdef HAVE_TCP_RETRANSMIT_SKB
int tracepoint_tcp_retransmit_skb(void *ctx)
{
	count_retransmits(FIELD(u64, ctx, TCP_RETRANSMIT_SKB_SKADDR_FIELD), 1);
	return 1;
}
#endif

#ifdef HAVE_TCP_RETRANSMIT_SYNACK
int tracepoint_tcp_retransmit_synack(void *ctx)
{
	count_retransmits(FIELD(u64, ctx, TCP_RETRANSMIT_SYNACK_SKADDR_FIELD), 1);
	return 1;
}
#endif

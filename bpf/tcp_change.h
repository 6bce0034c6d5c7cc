/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A change of a connection's state, in one of the places that each CPU has for its latest, and how it is filled in. */
#ifndef SCHEDTOP_TCP_CHANGE_H
#define SCHEDTOP_TCP_CHANGE_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "memory.h"
#include "socket.h"

struct tcp_change {
	u64 position; /* which one of this CPU it is, from 1; 0: it is being written */
	u64 time_ns;
	u32 old_state;
	u32 new_state;
	u16 family;
	u16 protocol;
	u16 local_port;
	u16 remote_port;
	u64 local[2]; /* 4 or 16 bytes, network order */
	u64 remote[2];
};

/* A reader sees by `position` that it is not whole until close_change(). */
static __always_inline void open_change(struct tcp_change *change, u32 old_state, u32 new_state)
{
	change->position = 0;
	barrier();
	change->time_ns = bpf_ktime_get_ns();
	change->old_state = old_state;
	change->new_state = new_state;
	change->local[0] = change->local[1] = 0;
	change->remote[0] = change->remote[1] = 0;
}

static __always_inline void close_change(struct tcp_change *change, u64 position)
{
	barrier();
	change->position = position;
}

#ifdef SOCK_FAMILY_OFFSET
/* Of a socket, before the change: of a connection that ends the ports are still there. */
static __always_inline void change_of_socket(struct tcp_change *change, u64 sock)
{
	u16 source;

	change->family = FIELD(u16, sock, SOCK_FAMILY_OFFSET);
	change->protocol = FIELD(u16, sock, SOCK_PROTOCOL_OFFSET);
	change->local_port = FIELD(u16, sock, SOCK_LOCAL_PORT_OFFSET);
	change->remote_port = HOST_ORDER(FIELD(u16, sock, SOCK_REMOTE_PORT_OFFSET));
#ifdef SOCK_SOURCE_PORT_OFFSET
	if (!change->local_port) {
		/* Of a larger structure than what the verifier knows it to be. */
		source = pointer_at(sock + SOCK_SOURCE_PORT_OFFSET);
		change->local_port = HOST_ORDER(source);
	}
#endif
	if (change->family == AF_INET) {
		change->local[0] = FIELD(u32, sock, SOCK_LOCAL_OFFSET);
		change->remote[0] = FIELD(u32, sock, SOCK_REMOTE_OFFSET);
	} else {
#ifdef SOCK_LOCAL6_OFFSET
		change->local[0] = pointer_at(sock + SOCK_LOCAL6_OFFSET);
		change->local[1] = pointer_at(sock + SOCK_LOCAL6_OFFSET + 8);
		change->remote[0] = pointer_at(sock + SOCK_REMOTE6_OFFSET);
		change->remote[1] = pointer_at(sock + SOCK_REMOTE6_OFFSET + 8);
#endif
	}
}
#endif

#ifdef HAVE_INET_SOCK_SET_STATE
/* Of the record of the tracepoint. */
static __always_inline void change_of_record(struct tcp_change *change, void *ctx)
{
	change->family = FIELD(u16, ctx, INET_SOCK_SET_STATE_FAMILY_FIELD);
	change->protocol = FIELD(u16, ctx, INET_SOCK_SET_STATE_PROTOCOL_FIELD);
	change->local_port = FIELD(u16, ctx, INET_SOCK_SET_STATE_SPORT_FIELD);
	change->remote_port = FIELD(u16, ctx, INET_SOCK_SET_STATE_DPORT_FIELD);
	if (change->family == AF_INET) {
		change->local[0] = FIELD(u32, ctx, INET_SOCK_SET_STATE_SADDR_FIELD);
		change->remote[0] = FIELD(u32, ctx, INET_SOCK_SET_STATE_DADDR_FIELD);
	} else {
		change->local[0] = FIELD(u64, ctx, INET_SOCK_SET_STATE_SADDR_V6_FIELD);
		change->local[1] = FIELD(u64, ctx, INET_SOCK_SET_STATE_SADDR_V6_FIELD + 8);
		change->remote[0] = FIELD(u64, ctx, INET_SOCK_SET_STATE_DADDR_V6_FIELD);
		change->remote[1] = FIELD(u64, ctx, INET_SOCK_SET_STATE_DADDR_V6_FIELD + 8);
	}
}
#endif

#endif

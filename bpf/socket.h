/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The kernel's constants of sockets. */
#ifndef SCHEDTOP_SOCKET_H
#define SCHEDTOP_SOCKET_H

#include <linux/types.h>

#define IPPROTO_TCP 6
#define IPPROTO_UDP 17
#define AF_INET 2
#define AF_INET6 10
#define MSG_PEEK 2
enum tcp_state {
	TCP_ESTABLISHED = 1,
	TCP_SYN_SENT,
	TCP_SYN_RECV,
	TCP_CLOSE = 7,
	TCP_CLOSE_WAIT,
	TCP_LISTEN = 10
};
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define HOST_ORDER(port) ((u16)((port) >> 8 | (port) << 8))
#else
#define HOST_ORDER(port) ((u16)(port))
#endif

#endif

/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#ifndef SCHEDTOP_TYPES_H
#define SCHEDTOP_TYPES_H

typedef unsigned char u8, __u8, uint8_t;
typedef signed char s8, __s8, int8_t;
typedef unsigned short u16, __u16, uint16_t, __be16, __le16, __sum16;
typedef short s16, __s16, int16_t;
typedef unsigned int u32, __u32, uint32_t, __be32, __le32, __wsum;
typedef int s32, __s32, int32_t, pid_t;
typedef unsigned long long u64, __u64, uint64_t, __be64, __le64;
typedef long long s64, __s64, int64_t, loff_t;
typedef __u64 __aligned_u64 __attribute__((aligned(8)));
typedef unsigned long size_t, uintptr_t;
typedef long ssize_t;
typedef _Bool bool;

#define true 1
#define false 0
#define NULL ((void *)0)

#endif

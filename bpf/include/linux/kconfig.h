/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* bcc includes this file before everything else: it sets the scene for the few headers below. */
#ifndef SCHEDTOP_KCONFIG_H
#define SCHEDTOP_KCONFIG_H

#define CONFIG_BPF_SYSCALL 1
#define PAGE_SIZE 4096UL
#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + (c))
#ifndef LINUX_VERSION_CODE
#define LINUX_VERSION_CODE KERNEL_VERSION(5, 10, 0)
#include <linux/compiler.h>

#endif

#include <linux/compiler.h>

#endif

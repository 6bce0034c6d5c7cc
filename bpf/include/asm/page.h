/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* bcc includes this file; schedtop needs nothing of it. */

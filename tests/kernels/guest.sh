#!/bin/sh
# Runs inside a guest, as its only program: the chosen tests, then the end of the machine.
export PATH=/usr/sbin:/usr/bin HOME=/root LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 PYTEST_DISABLE_PLUGIN_AUTOLOAD=1
# An emulated processor needs minutes for what is a second of load.
export SCHEDTOP_TESTS_LOAD=0.03
for place in /tmp /run /var /root; do mount -t tmpfs tmpfs $place; done
mkdir -p /dev/shm /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t devpts devpts /dev/pts
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tracefs tracefs /sys/kernel/tracing
ip link set lo up
cd /work || exit
python3 -m tests.kernels.guest
echo "schedtop-kernels: ended with $?"
poweroff -f

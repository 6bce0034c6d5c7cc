#!/bin/busybox sh
# The first program of a guest: finds the disks and goes on from there.
export PATH=/bin:/sbin:/usr/bin:/usr/sbin
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
for module in /modules/*; do insmod "$module"; done
tries=0
while [ ! -e /dev/vdb ] && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
mount -t ext4 -o ro /dev/vda /root || { echo "schedtop-kernels: no root"; poweroff -f; }
mount --move /dev /root/dev
mount --move /proc /root/proc
mount --move /sys /root/sys
mount -t tmpfs tmpfs /root/work
tar -x -f /root/dev/vdb -C /root/work
exec switch_root /root /bin/sh /work/tests/kernels/guest.sh

"""The ways into the kernel: BTF, tracefs, the compiler, bpf(2), the ring buffer."""

"""Random mixes of tasks beside the live source, whose numbers are compared with the kernel's: `make check-kernel`."""

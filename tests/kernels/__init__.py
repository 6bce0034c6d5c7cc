"""Stock kernels in virtual machines: see __main__."""

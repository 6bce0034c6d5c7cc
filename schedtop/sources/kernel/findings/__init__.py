"""What the kernel and the compiler lack, as Findings: the sentences of errors at the start."""

"""What all tests need."""

import signal

# A shell's background jobs ignore it, their children too, and then no command that a test interrupts would ever end.
signal.signal(signal.SIGINT, signal.default_int_handler)

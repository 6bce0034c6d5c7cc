"""The time that interrupts take, from the live kernel."""

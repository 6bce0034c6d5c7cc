"""The time that interrupts take."""

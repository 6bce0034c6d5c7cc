"""What an off-CPU measurement holds."""

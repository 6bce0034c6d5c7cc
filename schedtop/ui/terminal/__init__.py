"""What the terminal can, and what is sent to it."""

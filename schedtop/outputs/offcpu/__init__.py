"""An off-CPU measurement as data, text and pictures."""

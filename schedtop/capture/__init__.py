"""What a capture holds."""

"""What changed between two reports, most first."""

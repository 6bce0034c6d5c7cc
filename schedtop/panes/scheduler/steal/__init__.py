"""What takes CPU time away: steal, quotas, pressure."""

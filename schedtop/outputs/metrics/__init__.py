"""What is counted, for Prometheus: totals, their families, and the endpoint."""

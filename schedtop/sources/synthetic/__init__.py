"""A made-up host, for tests, benchmarks and screenshots."""

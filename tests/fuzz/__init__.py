"""Coverage-guided fuzzing of everything that reads what others wrote: `make fuzz`, see docs/security.md."""

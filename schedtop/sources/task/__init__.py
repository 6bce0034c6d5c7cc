"""One task on the live kernel, looked at closely."""

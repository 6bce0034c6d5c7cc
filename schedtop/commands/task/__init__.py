"""`schedtop task`."""

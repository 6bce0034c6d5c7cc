"""`schedtop capture`."""

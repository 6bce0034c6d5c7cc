"""`schedtop completion`, and what it asks at each Tab."""

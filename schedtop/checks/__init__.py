"""What this host has of what schedtop needs: `schedtop doctor` lists it, and errors at the start say it."""

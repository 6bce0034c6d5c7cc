"""The source without privileges: what /proc tells everybody."""

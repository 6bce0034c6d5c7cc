"""The source without privileges: what /proc tells every user."""

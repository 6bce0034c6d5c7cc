"""Scenes: recordings of known loads on a real kernel, and the pictures that are drawn from them."""

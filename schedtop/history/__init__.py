"""The Frames of the last minutes, and the View: an immutable cut of them."""

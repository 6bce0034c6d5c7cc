"""Random keys, clicks, pasted text and sizes: `make monkey`."""

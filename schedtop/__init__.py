"""schedtop: what the Linux scheduler does, live."""

__version__ = "0.1.0"

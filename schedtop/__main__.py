"""`python -m schedtop`."""

import sys

from schedtop.cli import main

if __name__ == "__main__":
    sys.exit(main())

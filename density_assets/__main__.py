"""`python -m density_assets` is the command `density`."""

import sys

from density_assets.cli.app import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())

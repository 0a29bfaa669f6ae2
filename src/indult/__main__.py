"""`python -m indult`: the same as the `indult` command."""

import sys

from indult.cli import main

if __name__ == "__main__":
    sys.exit(main())

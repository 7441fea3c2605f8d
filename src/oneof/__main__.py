"""`python -m oneof` is the command `oneof`."""

import sys

from oneof.cli import main

if __name__ == "__main__":
    sys.exit(main())

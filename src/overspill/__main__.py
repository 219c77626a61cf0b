"""The command line's entry: the only place that turns an error into an exit code."""

from __future__ import annotations

import sys


def main() -> int:
    from overspill.cli import main as cli_main

    return cli_main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())

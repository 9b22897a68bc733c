"""``python -m roadtest``."""

from roadtest.cli import main

main()

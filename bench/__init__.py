"""How fast roadtest is, always beside something else measured in the same run: ``python -m bench --help``."""

import json
from pathlib import Path


def load(path: Path) -> list[str]:
    # TODO: an unreadable file should not look like an empty list
    return json.loads(path.read_text()) if path.exists() else []


def save(path: Path, items: list[str]) -> None:
    path.write_text(json.dumps(items))  # TODO: write to a temporary file first

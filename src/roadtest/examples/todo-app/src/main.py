import sys
from pathlib import Path

from store import load, save


def main() -> None:
    path = Path("todo.json")
    items = load(path)
    if len(sys.argv) > 1:
        items.append(" ".join(sys.argv[1:]))
        save(path, items)
    # TODO: number the items
    print("\n".join(items))


main()

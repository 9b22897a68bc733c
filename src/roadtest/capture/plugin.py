"""The capture hooks as a plugin of Claude Code: ``claude --plugin-dir "$(roadtest hooks plugin)"``.

The folder of this package is the plugin: its manifest, its hooks and the script that they run.
"""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).parent
FILES = (".claude-plugin/plugin.json", "hooks/hooks.json", "hook.py")


def write_plugin(folder: Path) -> None:
    """A copy that needs no roadtest, to commit or to publish."""
    for name in FILES:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)

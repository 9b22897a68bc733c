"""``Place``: where and under which name a run happens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from roadtest.cassette import Mode
from roadtest.isolation import Cancel


@dataclass(frozen=True, kw_only=True)
class Place:
    """What a run needs to know besides its task."""

    test_id: str
    base: Path
    """What relative paths in the task start from."""
    output_dir: Path
    claude: Path
    keep_workspace: Callable[[], bool] | bool = False
    cancel: Cancel | None = None
    cassette: Path | None = None
    """The folder of this run's recording."""
    cassette_named: bool = False
    """Whether somebody chose that folder, and not the name of a case or test."""
    cassettes: Mode = "replay"

    @property
    def capture_folder(self) -> Path:
        return self.output_dir / self.test_id

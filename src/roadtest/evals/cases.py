"""``Case``: one input, and what is expected of it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from roadtest.errors import UsageError

TASK_NAMES = frozenset({"input", "case", "workspace", "env", "variant"})
"""What a task may ask for besides pytest fixtures."""

_LONGEST_SLUG = 60


@dataclass(frozen=True)
class Case:
    """One row of a suite.

    ``tags`` become pytest markers, ``options`` replace fields of the suite's ``ClaudeCode`` for this case alone, and
    ``marks`` are pytest marks such as ``pytest.mark.xfail``.
    """

    name: str
    input: Any
    expected: Any = None
    tags: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    marks: Sequence[Any] = field(default=(), kw_only=True)


def check_name(name: Any, what: str) -> None:
    """A name becomes a part of a node id, so it has to be one line without ``::``."""
    if not isinstance(name, str) or not name.strip():
        raise UsageError(f"{what} has no name but {name!r}.", hint="a name is a text that is not empty")
    if "::" in name or not name.isprintable():
        raise UsageError(
            f"{what} is called {name!r}, which cannot be part of a node id.", hint="leave out :: and newlines"
        )


def slug(name: str) -> str:
    """A name as a folder is called: ``Find TODOs!`` becomes ``find-todos``.

    What is too long or not written in ASCII ends in a few digits of its hash, so that it stays apart from others.
    """
    words = re.sub(r"[^a-z0-9._]+", "-", name.lower()).strip("-.")
    if name.isascii() and words and len(words) <= _LONGEST_SLUG:
        return words
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return "-".join(filter(None, (words[:_LONGEST_SLUG].rstrip("-."), digest)))


def distinct_slug(name: str) -> str:
    """As ``slug``, but never the same for two names: what loses anything ends in a few digits of its hash."""
    folder = slug(name)
    return folder if folder == name else f"{folder}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"

"""What a cassette holds, as records; ``files.py`` puts them on disk, one JSON file each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from roadtest.cassette.wire import Json

FORMAT = 1
"""Changes when a reader of this version would misunderstand the files."""


class Result(msgspec.Struct, omit_defaults=True):
    """What a tool gave back."""

    tool_use_id: str
    content: Any = ""
    """A text where it is one, otherwise the content blocks."""
    is_error: bool = False


class Notice(msgspec.Struct):
    """The news that a background task ended; Claude Code delivers it with whatever request comes next."""

    tool_use_id: str
    text: str


class News(msgspec.Struct, omit_defaults=True):
    """What a request says that the one before it in its lane did not, in canonical form."""

    results: list[Result] = []
    """In the order of the calls, whatever the order in which they ended."""
    text: list[Any] = []
    """What the user said, or a hook in their place; a text, or a content block of another kind."""
    notices: list[Notice] = []
    injected: list[str] = []
    """Digests of what Claude Code added by itself: reminders, environment, skill texts."""


class Harness(msgspec.Struct, omit_defaults=True):
    """The side of a request that is Claude Code's own: named and digested, never stored."""

    model: str = ""
    system: str = ""
    tools: str = ""
    tool_names: list[str] = []


class RecordedRequest(msgspec.Struct, omit_defaults=True):
    lane: str
    continues: int | None = None
    """The number of the response that it goes on from; None for the first of a conversation."""
    turn: int = 1
    """Which prompt of the run it belongs to."""
    aside: bool = False
    """A call beside the conversation: a title, the summary of a fetched page."""
    new: News = msgspec.field(default_factory=News)
    harness: Harness | None = None
    """Only where it differs from that of the request before it in the lane."""


class RecordedError(msgspec.Struct, omit_defaults=True):
    status: int
    body: Any
    headers: dict[str, str] = {}


class Timing(msgspec.Struct):
    first_byte_ms: int
    total_ms: int


class RecordedResponse(msgspec.Struct, omit_defaults=True):
    """The message, or the error that came in its place."""

    message: Json | None = None
    error: RecordedError | None = None
    after: int | None = None
    """The highest number of a request that was asked before this answer was complete, if it is a later one."""
    rank: int | None = None
    """This was the so-manieth answer to be complete, where that is not its number."""
    timing: Timing | None = None


class Lane(msgspec.Struct, omit_defaults=True):
    """A subagent's conversation."""

    parent: str = "main"
    spawned_by: str = ""
    """The tool_use id of the call, where the recording tells."""


class Fingerprints(msgspec.Struct, omit_defaults=True):
    """What an answer depends on besides the conversation itself."""

    prompt: str = ""
    options: dict[str, Any] = {}
    files: dict[str, str] = {}
    commit: str = ""
    """Of the workspace. Another one makes nothing stale; it means that files may have changed."""


class Metadata(msgspec.Struct, omit_defaults=True):
    format: int
    recorded_at: str = ""
    claude_version: str = ""
    exchanges: int = 0
    lanes: dict[str, Lane] = {}
    context: Fingerprints = msgspec.field(default_factory=Fingerprints)
    named: bool = False
    """Whether ``run_agent`` was told to put it there, so that no case or test needs to claim it."""


class Exchange(msgspec.Struct):
    """One request with its answer; the number is the order of asking."""

    number: int
    request: RecordedRequest
    response: RecordedResponse

    @property
    def tool_uses(self) -> Mapping[str, Json]:
        """The calls that the answer makes, by id."""
        content = self.response.message["content"] if self.response.message else []
        return {block["id"]: block for block in content if block.get("type") == "tool_use"}


class Cassette(msgspec.Struct):
    metadata: Metadata
    exchanges: list[Exchange]

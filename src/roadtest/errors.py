"""Everything roadtest raises on purpose.

    RoadtestError
    ├── UsageError            what was asked for cannot be: bad option, bad argument, bad file
    │   └── MissingExtra      an optional dependency is needed and not installed
    ├── EnvironmentProblem    the machine lacks something: git, bubblewrap, a writable folder
    │   └── ClaudeNotFound    no Claude Code binary anywhere we look
    └── InvalidRun            the run proves nothing, so it can neither pass nor fail
        ├── CaptureError      tool calls are missing, corrupt or cannot be trusted
        └── CassetteError     a cassette is missing, stale, broken or was not followed

Every message says what happened and why; ``hint`` says what to do next.
"""


class RoadtestError(Exception):
    """Base of all errors that are meant for the user's eyes."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  → {self.hint}" if self.hint else self.message


class UsageError(RoadtestError):
    pass


class MissingExtra(UsageError):  # noqa: N818 - reads as what it is at the raise and in the traceback
    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs the optional dependency group {extra!r}, which is not installed.",
            hint=f"pip install 'roadtest[{extra}]'",
        )


class EnvironmentProblem(RoadtestError):  # noqa: N818
    pass


class ClaudeNotFound(EnvironmentProblem):
    pass


class InvalidRun(RoadtestError):  # noqa: N818
    pass


class CaptureError(InvalidRun):
    pass


class CassetteError(InvalidRun):
    pass

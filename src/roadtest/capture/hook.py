"""The script that Claude Code runs at every hook: one event on stdin becomes one line in the folder of the run.

It is started anew for each event (``python -I -S hook.py``), so its start is its cost: it imports only modules written
in C and leaves without tidying up. It never disturbs the agent: whatever happens, it prints nothing to stdout and exits
0; what went wrong goes to stderr and, where that can be, to ``capture-errors.log`` of the run.

It stands alone, without roadtest and with any Python from 3.8 on: a copy of this file works in any project.
"""

import _signal  # type: ignore[import-not-found] # the signal module itself loads enum
import posix
import sys
import time
from _stat import S_ISREG

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from typing import Any

LIMIT = 1024 * 1024
"""Bytes of a tool's output that are kept; ROADTEST_MAX_OUTPUT_BYTES sets another number."""
PATIENCE = 30
"""Seconds after which the hook gives up, on a lock that is never released or on a stdin that never ends."""
EXCERPT = 2000
"""Characters of a result that are kept in a batch, beside the whole result of the call itself."""
DIGITS = 1000
"""Whole numbers longer than this stay text: Python refuses to read them back."""
DEPTH = 2
"""Most names in a TEST_RUN_ID."""

PHASES = {
    "PreToolUse": "pre",
    "PostToolUse": "post",
    "PostToolUseFailure": "failure",
    "PermissionDenied": "denied",
}
REQUIRED = {"tool_name": str, "tool_input": dict, "tool_use_id": str}
FIELDS = {**REQUIRED, "session_id": str, "cwd": str, "agent_id": str, "agent_type": str, "error": str}
OWN = ("timestamp", "phase", "event", "tool_output", "exit_code", "tool_output_truncated")
NAMED = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"


class Refused(Exception):  # noqa: N818 - it is only ever printed
    """This event cannot be captured."""


def main() -> None:
    environ = posix.environ
    if environ.get(b"TEST_MODE") != b"true":
        return
    try:
        _signal.signal(_signal.SIGALRM, give_up)
        _signal.alarm(PATIENCE)
        data = read_all(0)
        folder = open_folder(output_dir(environ), run_id(environ))
        name, line = to_line(decode(data), limit(environ))
        append(folder, name, line)
    except BaseException as problem:  # noqa: BLE001 - nothing may reach the agent
        complain(environ, problem)


def give_up(signal: int, frame: object) -> None:
    raise Refused(f"gave up after {PATIENCE} seconds")


def read_all(file: int) -> bytes:
    pieces = [posix.read(file, 1 << 20)]
    while pieces[-1]:
        pieces.append(posix.read(file, 1 << 20))
    return b"".join(pieces)


def complain(environ: "dict[bytes, bytes]", problem: BaseException) -> None:
    reason = " ".join(f"{type(problem).__name__}: {problem}".split())
    line = f"{timestamp()} roadtest capture: {reason}\n".encode("utf-8", "replace")
    if sys.stderr is not None:  # else descriptor 2 is closed, and may by now be a file of ours
        try:
            posix.write(2, line)
        except OSError:
            pass
    try:
        append(log_folder(environ), "capture-errors.log", line)
    except BaseException:  # noqa: BLE001, S110 - stderr has it already
        pass


# Where to


def run_id(environ: "dict[bytes, bytes]") -> "list[bytes]":
    """The folders below the output folder: plain names only, so that nothing is written anywhere else."""
    value = environ.get(b"TEST_RUN_ID", b"")
    names = value.split(b"/")
    if (
        len(names) > DEPTH
        or b".." in value
        or any(name in (b"", b".") or name.strip(NAMED) for name in names)
    ):
        raise Refused(
            f"TEST_RUN_ID {value[:100]!r} is not one or two names of letters, digits, '.', '_' and '-'"
        )
    return names


def output_dir(environ: "dict[bytes, bytes]") -> bytes:
    root = environ.get(b"CLAUDE_PROJECT_DIR") or b"."
    chosen = environ.get(b"ROADTEST_OUTPUT_DIR") or b"test-output"
    return chosen if chosen.startswith(b"/") else root + b"/" + chosen


def open_folder(output: bytes, names: "list[bytes]") -> int:
    """The run's folder, made where it is missing; a link below the output folder is not followed."""
    make_folders(output)
    folder = posix.open(output, posix.O_RDONLY | posix.O_DIRECTORY)
    for name in names:
        try:
            posix.mkdir(name, dir_fd=folder)
        except FileExistsError:
            pass
        folder = posix.open(name, posix.O_RDONLY | posix.O_DIRECTORY | posix.O_NOFOLLOW, dir_fd=folder)
    return folder


def log_folder(environ: "dict[bytes, bytes]") -> int:
    """The run's folder, or the output folder where there is one and the run has none."""
    try:
        return open_folder(output_dir(environ), run_id(environ))
    except (Refused, OSError):
        return posix.open(output_dir(environ), posix.O_RDONLY | posix.O_DIRECTORY)


def make_folders(path: bytes) -> None:
    try:
        posix.mkdir(path)
    except FileExistsError:
        pass
    except FileNotFoundError:
        parent = path.rstrip(b"/").rpartition(b"/")[0]
        if not parent:
            raise
        make_folders(parent)
        make_folders(path)


def append(folder: int, name: str, line: bytes) -> None:
    """Add a whole line or nothing, whoever else writes at the same time."""
    flags = posix.O_RDWR | posix.O_APPEND | posix.O_CREAT | posix.O_NOFOLLOW | posix.O_NONBLOCK
    file = posix.open(name, flags, 0o666, dir_fd=folder)
    try:
        if not S_ISREG(posix.fstat(file).st_mode):
            raise Refused(f"{name} is not a regular file")
        posix.lockf(file, posix.F_LOCK, 0)
        size = posix.fstat(file).st_size
        if size and posix.pread(file, 1, size - 1) != b"\n":
            line = (
                b"\n" + line
            )  # a writer was killed in the middle of its line; it must not take this one with it
        try:
            write_all(file, line)
        except BaseException:
            posix.ftruncate(file, size)
            raise
    finally:
        posix.close(file)


def write_all(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[posix.write(file, rest) :]


# What


def to_line(payload: object, limit: int, moment: "int | None" = None) -> "tuple[str, bytes]":
    """The file that keeps this event, and its line; ``moment`` is when it happened, if not now (``time_ns``)."""
    if not isinstance(payload, dict):
        raise Refused("the event is not a JSON object")
    event = payload.pop("hook_event_name", "")
    phase = PHASES.get(event) if isinstance(event, str) else None
    if not well_formed(payload):
        phase, payload = None, {"payload": payload}
    if phase is None or any(name not in payload for name in REQUIRED):
        return "lifecycle.jsonl", encode(lifecycle(event, payload, moment)) + b"\n"
    record = tool_event(phase, payload, moment)
    line = encode(record)
    if len(line) > limit and "tool_output" in record:
        line = encode(with_short_output(record, limit))
    return "tool-calls.jsonl", line + b"\n"


def well_formed(payload: "dict[str, Any]") -> bool:
    """Whether the fields that we know are what we know them as; a reader could not read the line otherwise."""
    duration = payload.get("duration_ms", 0)
    known = all(isinstance(payload[name], kind) for name, kind in FIELDS.items() if name in payload)
    return known and isinstance(duration, (int, float)) and not isinstance(duration, bool)


def tool_event(phase: str, payload: "dict[str, Any]", moment: "int | None") -> "dict[str, Any]":
    record: dict[str, Any] = {"timestamp": timestamp(moment), "phase": phase}
    record.update((name, payload.pop(name)) for name in FIELDS if name in payload)
    if "tool_response" in payload:
        record["tool_output"] = payload.pop("tool_response")
    if record["tool_name"] == "Bash" and phase != "pre":
        record["exit_code"] = exit_code(record)
    return with_rest(record, payload)


def lifecycle(event: object, payload: "dict[str, Any]", moment: "int | None") -> "dict[str, Any]":
    name = event if isinstance(event, str) else encode(event).decode()
    record = {"timestamp": timestamp(moment), "event": name}
    if event == "PostToolBatch" and isinstance(payload.get("tool_calls"), list):
        payload["tool_calls"] = [brief(call) for call in payload["tool_calls"]]
    return with_rest(record, payload)


def with_rest(record: "dict[str, Any]", payload: "dict[str, Any]") -> "dict[str, Any]":
    """Fields that we do not know are kept as they are, under another name where they would take the place of ours."""
    for name in payload:
        record["claude_" + name if name in OWN else name] = payload[name]
    return record


def brief(call: object) -> object:
    """A call in a batch, without what its own lines in tool-calls.jsonl say in full."""
    if not isinstance(call, dict):
        return call
    response = call.pop("tool_response", None)
    if isinstance(response, str):
        call["tool_response"] = response[:EXCERPT]
    if not isinstance(response, str) or not response.startswith("<tool_use_error>"):
        call.pop("tool_input", None)  # only a call that never got as far as its hooks has no lines of its own
    return call


def exit_code(record: "dict[str, Any]") -> "int | None":
    """Of Bash: 0 where it succeeded, except for the few commands whose 1 is an answer and not an error."""
    error, output = record.get("error"), record.get("tool_output")
    if isinstance(error, str):
        code = error[len("Exit code ") :].split(None, 1) if error.startswith("Exit code ") else []
        return int(code[0]) if code and code[0].isdigit() else None
    if not isinstance(output, dict) or output.get("interrupted") or output.get("backgroundTaskId"):
        return None
    return 1 if output.get("returnCodeInterpretation") else 0


def timestamp(moment: "int | None" = None) -> str:
    then = (time.time_ns() if moment is None else moment) // 1_000_000
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(then // 1000)) + f".{then % 1000:03d}Z"


# Large values


def limit(environ: "dict[bytes, bytes]") -> int:
    value = environ.get(b"ROADTEST_MAX_OUTPUT_BYTES", b"")
    return int(value) if value.isdigit() and len(value) < DIGITS else LIMIT


def with_short_output(record: "dict[str, Any]", limit: int) -> "dict[str, Any]":
    whole = encode(record["tool_output"])
    if len(whole) <= limit:
        return record
    import hashlib  # slow to load and rarely needed

    truncated = {"bytes": len(whole), "sha256": hashlib.sha256(whole).hexdigest()}
    room = limit
    while len(whole) > limit:
        record["tool_output"] = shorten(record["tool_output"], room)
        whole = encode(record["tool_output"]) if room else b""
        room //= 2
    return {**record, "tool_output_truncated": truncated}


def shorten(value: "Any", room: int) -> "Any":
    """The same shape, with texts, lists and objects of at most this length."""
    if isinstance(value, str):
        return value[:room]
    if isinstance(value, list):
        return [shorten(item, room) for item in value[:room]]
    if isinstance(value, dict):
        return {name: shorten(value[name], room) for name in list(value)[:room]}
    return value


# JSON: the C functions behind the json module, without the regular expressions that its import compiles


class Reading:
    """What the scanner asks for: numbers that no reader could hold stay the text that they are."""

    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_constant = str

    @staticmethod
    def parse_int(text: str) -> "int | str":
        return int(text) if len(text) < DIGITS else text

    @staticmethod
    def parse_float(text: str) -> "float | str":
        value = float(text)
        return value if value - value == 0 else text


def decode(data: bytes) -> object:
    from _json import make_scanner  # late: if this fails, main is there to say so

    text = data.decode("utf-8", "replace").strip()
    try:
        value, end = make_scanner(Reading)(text, 0)  # type: ignore[arg-type]
    except (StopIteration, SystemError, ValueError):  # its own error is in json.decoder, which is not loaded
        raise Refused(f"stdin is not JSON ({len(data)} bytes)") from None
    if end != len(text):
        raise Refused(f"stdin is more than one JSON value ({len(data)} bytes)")
    return value


def encode(value: object) -> bytes:
    from _json import encode_basestring, make_encoder

    to_text = make_encoder(None, str, encode_basestring, None, ": ", ", ", False, False, False)
    text = "".join(to_text(value, 0))
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair: JSON's escapes can say it, UTF-8 cannot
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


if __name__ == "__main__":
    main()
    posix._exit(0)  # noqa: SLF001 - what the interpreter would tidy up now costs as much as the work did

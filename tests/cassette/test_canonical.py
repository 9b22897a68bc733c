from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from roadtest.cassette.canonical import digest, last_assistant, news, result_text
from roadtest.cassette.records import News, Result
from tests.cassette.talk import text

ORDER = ["t1", "t2", "t3"]
RESULTS = st.dictionaries(st.sampled_from(ORDER), st.text(), min_size=1)


def read(*messages: Any, first: bool = False) -> News:
    return news(messages, ORDER, digest, first=first)


@given(RESULTS, st.data())
def test_form_and_order_do_not_matter(results: dict[str, str], data: st.DataObject) -> None:
    """Results say the same as a string or as blocks, with or without cache marks, in any order, in one message or more."""
    plain = [{"type": "tool_result", "tool_use_id": name, "content": said} for name, said in results.items()]
    messages: list[Any] = []
    for block in data.draw(st.permutations(plain)):
        content: Any = block["content"]
        if data.draw(st.booleans()):
            content = (
                [{"type": "text", "text": content, "cache_control": {"type": "ephemeral"}}] if content else []
            )
        changed = {**block, "content": content, "is_error": False, "cache_control": {"type": "ephemeral"}}
        together = data.draw(st.booleans())
        if messages and together:
            messages[-1]["content"].append(changed)
        else:
            messages.append({"role": "user", "content": [changed]})
    assert read(*messages) == read({"role": "user", "content": plain})


def test_what_claude_code_adds_is_digested() -> None:
    """Reminders and environment messages are kept as digests, wherever they stand."""
    reminder = "<system-reminder>\nMind the gap.\n</system-reminder>\n"
    found = read(
        {"role": "user", "content": [text(reminder), text("Hello.")]},
        {"role": "system", "content": "# Environment"},
    )
    assert found.text == ["Hello."]
    assert found.injected == [digest(reminder.strip()), digest("# Environment")]


def test_a_reminder_at_the_end_of_a_result_is_no_part_of_it() -> None:
    """What Claude Code appends to a file's text is digested; what the file itself says stays."""
    said = "<system-reminder>in the file</system-reminder>\nrest"
    block = {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": said + "\n\n<system-reminder>\nx\n</system-reminder>\n",
    }
    found = read({"role": "user", "content": [block]})
    assert found.results == [Result("t1", said)]
    assert len(found.injected) == 1


def test_text_beside_results_is_not_the_users() -> None:
    """The text of a skill, or an instruction to summarise, comes beside results and is digested."""
    block = {"type": "tool_result", "tool_use_id": "t1", "content": "Launching skill: x"}
    found = read({"role": "user", "content": [block, text("Do the x thing.")]})
    assert found.text == []
    assert found.injected == [digest("Do the x thing.")]


def test_long_texts_are_kept_in_first_requests_only() -> None:
    """A long prompt is kept whole where a conversation begins, and by its digest later on."""
    long = "Please. " * 1000
    message = {"role": "user", "content": long}
    assert read(message, first=True).text == [long.strip()]
    (kept,) = read(message).text
    assert kept["begins"] == long[:60]
    assert len(str(kept)) < 200


def test_images_are_kept_by_digest() -> None:
    """The bytes of an image are compared, not stored."""

    def result(data: str) -> Any:
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
        return read(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [image]}]}
        )

    one, same, other = result("A" * 5000), result("A" * 5000), result("B" * 5000)
    assert one == same != other
    assert len(result_text(one.results[0])) < 200


def test_errors_are_results() -> None:
    """That a call failed is part of its result."""
    assert result_text(Result("t1", "no", is_error=True)) != result_text(Result("t1", "no"))


def test_what_is_new_follows_the_last_answer() -> None:
    """Only what comes after the model's last message is new."""
    messages = [{"role": role, "content": str(number)} for number, role in enumerate("usaua")]
    for message in messages:
        message["role"] = {"u": "user", "s": "system", "a": "assistant"}[message["role"]]
    raw = [msgspec.Raw(msgspec.json.encode(message)) for message in messages]
    assert last_assistant(raw) == (messages[4], [])
    assert last_assistant(raw[:4]) == (messages[2], [messages[3]])
    assert last_assistant(raw[:1]) == (None, messages[:1])

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from roadtest.cassette.wire import Request

CODE_POINTS = st.sampled_from(["\ud83d", "\ude00", "😀", "\\", "u", "d83d", '"', "a"])


def payload(body: bytes) -> object:
    return Request("POST", "/v1/messages", {}, body).payload


@given(st.lists(CODE_POINTS, max_size=8).map("".join))
@example("\\ud83d\ude00")
def test_half_a_surrogate_pair_is_read(said: str) -> None:
    """What JavaScript may send and UTF-8 cannot hold becomes the replacement character; all else stays."""
    whole = said.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert payload(json.dumps({"said": said}).encode()) == {"said": whole}


@pytest.mark.parametrize("body", [b"", b"{", b'\xff\xfe{"messages": []}', b'{"a": "\\u12"}', b"[]"])
def test_what_is_no_object_is_an_error(body: bytes) -> None:
    """A body that is not a JSON object raises one kind of error."""
    with pytest.raises(msgspec.DecodeError):
        payload(body)

"""Installing the hooks into settings that belong to somebody else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from roadtest.capture import json_text, plugin
from roadtest.capture.install import Change, install, uninstall
from roadtest.capture.settings import LIFECYCLE_EVENTS, TOOL_EVENTS, command, groups
from roadtest.errors import UsageError

EVENTS = [*TOOL_EVENTS, *LIFECYCLE_EVENTS]


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    return tmp_path / ".claude" / "settings.json"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def apply(changes: list[Change]) -> list[Change]:
    for change in changes:
        change.apply()
    return changes


handlers = st.builds(lambda command: {"type": "command", "command": command}, st.text(max_size=8))
foreign_groups = st.builds(
    lambda matcher, found: {"matcher": matcher, "hooks": found},
    st.text(max_size=5),
    st.lists(handlers, max_size=3),
)
foreign_hooks = st.dictionaries(
    st.sampled_from([*EVENTS, "Notification"]), st.lists(foreign_groups, max_size=3), max_size=5
)
others = st.dictionaries(
    st.text(max_size=6).filter(lambda key: key != "hooks"),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=6),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)
documents = st.builds(
    lambda before, hooks, after: {**before, **({} if hooks is None else {"hooks": hooks}), **after},
    others,
    st.none() | foreign_hooks,
    others,
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Settings in any layout: indented or not, tight or loose, with any line ends, with or without a last one."""
    indent = draw(st.sampled_from([None, 1, 2, 4, "\t"]))
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (",", ": "), (" , ", " : ")]))
    text = json.dumps(draw(documents), indent=indent, separators=separators, ensure_ascii=draw(st.booleans()))
    text = text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
    return (
        draw(st.sampled_from(["", "\ufeff", " ", "\n"]))
        + text
        + draw(st.sampled_from(["", "\n", "\r\n", "  "]))
    )


@given(text=texts())
@example(text=" {}")
@example(text='\t{"a": {}}')
def test_uninstalling_restores_every_byte(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Whatever the settings hold and however they are laid out, install and uninstall leave them as they were."""
    settings = tmp_path_factory.mktemp("project") / ".claude" / "settings.json"
    write(settings, text)
    apply(install(settings))
    apply(uninstall(settings))
    assert settings.read_bytes() == text.encode()


@given(text=texts())
def test_installing_keeps_every_other_hook_and_key(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    """After installing, our group is the last of each event, and all else reads as before."""
    settings = tmp_path_factory.mktemp("project") / ".claude" / "settings.json"
    write(settings, text)
    before = json.loads(text.removeprefix("\ufeff"))
    apply(install(settings))
    after = json.loads(settings.read_bytes().decode().removeprefix("\ufeff"))
    for event in EVENTS:
        assert "roadtest-capture.py" in after["hooks"][event].pop()["hooks"][0]["command"]
    assert {
        event: found
        for event, found in after.pop("hooks").items()
        if found or event in before.get("hooks", {})
    } == (before.pop("hooks", {}))
    assert after == before


def test_a_file_that_was_not_there_is_gone_again(settings: Path) -> None:
    """Installing makes the file, its folder and the script; uninstalling removes all three."""
    apply(install(settings))
    assert set(json.loads(settings.read_text())["hooks"]) == set(EVENTS)
    assert (settings.parent / "hooks" / "roadtest-capture.py").is_file()
    apply(uninstall(settings))
    assert not settings.exists()
    assert not (settings.parent / "hooks" / "roadtest-capture.py").exists()


@pytest.mark.parametrize("text", [None, "{}", '{\n    "model": "opus"\n}\n', '{"hooks":{"Stop":[]}}'])
def test_installing_twice_changes_nothing(settings: Path, text: str | None) -> None:
    """A second installation finds nothing to do."""
    if text is not None:
        write(settings, text)
    apply(install(settings))
    assert install(settings) == []
    apply(uninstall(settings))
    assert uninstall(settings) == []


def test_the_layout_of_the_file_is_followed(settings: Path) -> None:
    """New lines are indented as the old ones are, and the old ones are untouched."""
    text = '{\n\t"model": "opus",\n\t"hooks": {\n\t\t"Stop": [\n\t\t\t{"hooks": []}\n\t\t]\n\t}\n}'
    write(settings, text)
    apply(install(settings))
    lines = settings.read_text().split("\n")
    assert lines[:5] == [*text.split("\n")[:4], '\t\t\t{"hooks": []},']
    assert '\t\t"PreToolUse": [' in lines
    assert lines[-1] == "}"


def test_a_handler_of_ours_leaves_a_shared_group_alone(settings: Path) -> None:
    """Where somebody added a handler to our group, only ours goes."""
    apply(install(settings))
    data = json.loads(settings.read_text())
    data["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "mine"})
    write(settings, json.dumps(data, indent=2))
    apply(uninstall(settings))
    assert json.loads(settings.read_text()) == {
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}
    }


def test_an_older_version_is_replaced(settings: Path) -> None:
    """Installing over the hooks of another version leaves only those of this one."""
    apply(install(settings))
    current = settings.read_text()
    write(settings, current.replace("python3 -I -S", "python3 -E"))
    assert [change.path for change in apply(install(settings))] == [settings]
    assert settings.read_text() == current


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{\n  "a": 1,\n  "b" 2\n}', "line 3, column 7"),
        ('{"a": 1', "line 1, column 8"),
        ("// hello\n{}", "line 1, column 1"),
        ("", "line 1, column 1"),
        ("[]", "it is not an object"),
        ('{"hooks": []}', '"hooks" is not an object'),
        ('{"hooks": {"Stop": {}}}', '"hooks.Stop" is not a list'),
    ],
)
def test_settings_that_are_broken_stay_untouched(settings: Path, text: str, complaint: str) -> None:
    """A file that Claude Code could not read either is an error with the place, and is not written to."""
    write(settings, text)
    for change in (install, uninstall):
        with pytest.raises(UsageError, match=str(settings)) as caught:
            change(settings)
        assert complaint in str(caught.value)
    assert settings.read_text() == text


def test_the_script_stays_while_another_file_uses_it(settings: Path) -> None:
    """The copy of the hook goes with the last settings file that runs it."""
    local = settings.with_name("settings.local.json")
    apply([*install(settings), *install(local)])
    apply(uninstall(settings))
    assert (settings.parent / "hooks" / "roadtest-capture.py").is_file()
    apply(uninstall(local))
    assert not (settings.parent / "hooks" / "roadtest-capture.py").exists()


def test_settings_of_a_project_name_no_path_of_this_machine(settings: Path, tmp_path: Path) -> None:
    """What is committed is the same for everybody; settings elsewhere get the absolute path."""
    apply(install(settings))
    assert str(tmp_path) not in settings.read_text()
    assert '\\"$CLAUDE_PROJECT_DIR\\"/.claude/hooks/roadtest-capture.py' in settings.read_text()
    elsewhere = tmp_path / "some where" / "extra.json"
    apply(install(elsewhere))
    assert f"'{tmp_path}/some where/hooks/roadtest-capture.py'" in elsewhere.read_text()


def test_a_link_is_written_through(settings: Path, tmp_path: Path) -> None:
    """Settings that are a symbolic link stay one, with the mode of the file that they point to."""
    target = tmp_path / "shared.json"
    target.write_text("{}")
    target.chmod(0o600)
    settings.parent.mkdir()
    settings.symlink_to(target)
    apply(install(settings))
    assert settings.is_symlink()
    assert "roadtest-capture" in target.read_text()
    assert target.stat().st_mode & 0o777 == 0o600


def test_the_plugin_runs_the_same_hooks(tmp_path: Path) -> None:
    """The hooks of the plugin are those that are installed, found by the root of the plugin; a copy is complete."""
    shipped: dict[str, Any] = json.loads((plugin.ROOT / "hooks" / "hooks.json").read_text())
    assert shipped["hooks"] == groups(command('"${CLAUDE_PLUGIN_ROOT}"/hook.py'))
    plugin.write_plugin(tmp_path / "copy")
    assert sorted(
        str(path.relative_to(tmp_path / "copy"))
        for path in (tmp_path / "copy").rglob("*.*")
        if path.is_file()
    ) == (sorted(plugin.FILES))


@given(
    value=st.recursive(
        st.none() | st.text() | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=12,
    )
)
def test_items_cover_exactly_their_values(value: Any) -> None:
    """Each item that is found in a text spans the text of its value."""
    text = json.dumps({"only": value}, indent=1)
    (item,) = json_text.items(text, 0)
    assert item.key == "only"
    assert json.loads(text[item.value_start : item.end]) == value

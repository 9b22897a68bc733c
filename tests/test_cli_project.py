"""Finding the records of the project at hand, from anywhere in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from roadtest.cli.project import output_dir

CONFIGURATIONS = {
    "pytest.ini": "[pytest]\nroadtest_output_dir = out\n",
    "tox.ini": "[tox]\n[pytest]\nroadtest_output_dir = out\n",
    "setup.cfg": "[metadata]\nname = %x\n[tool:pytest]\nroadtest_output_dir = out\n",
    "pyproject.toml": '[tool.pytest.ini_options]\nroadtest_output_dir = "out"\n',
}


@pytest.fixture
def below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """We are in a folder two levels below the project's."""
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(("name", "text"), CONFIGURATIONS.items(), ids=CONFIGURATIONS)
def test_the_setting_of_pytest_is_followed(tmp_path: Path, below: Path, name: str, text: str) -> None:
    """``roadtest_output_dir`` is read from whatever configures pytest, and is relative to that file."""
    (tmp_path / name).write_text(text)
    assert output_dir({}) == tmp_path / "out"


def test_the_environment_comes_first(tmp_path: Path, below: Path) -> None:
    """``ROADTEST_OUTPUT_DIR`` overrides the setting, relative to the same folder as under pytest."""
    (tmp_path / "pytest.ini").write_text(CONFIGURATIONS["pytest.ini"])
    assert output_dir({"ROADTEST_OUTPUT_DIR": "other"}) == tmp_path / "other"
    assert output_dir({"ROADTEST_OUTPUT_DIR": "/elsewhere"}) == Path("/elsewhere")


def test_a_project_without_setting_uses_the_default(tmp_path: Path, below: Path) -> None:
    """A configuration that says nothing of outputs still tells where the project is; other files do not."""
    (below / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (below / "setup.cfg").write_text("no section\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    assert output_dir({}) == tmp_path / "test-output"


def test_without_configuration_the_outputs_are_looked_for(tmp_path: Path, below: Path) -> None:
    """The nearest folder that has outputs is meant, else the current one; what lies below it is named from here."""
    assert output_dir({}) == Path("test-output")
    (tmp_path / "test-output").mkdir()
    assert output_dir({}) == tmp_path / "test-output"

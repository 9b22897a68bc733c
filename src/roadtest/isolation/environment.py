"""The environment of the agent: made from nothing but an allow-list, the same on every machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from roadtest.errors import UsageError
from roadtest.isolation.git import DATES

ALLOWED = ("PATH",)
"""All that is taken over from the host."""

CREDENTIALS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
"""What the child never gets: it talks to roadtest's server, which has them where it records or runs live."""

REPEATABLE = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_ATTRIBUTION_HEADER": "0",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_TERMINAL_TITLE": "1",
    "CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS": "1",
    "CLAUDE_CODE_PROJECT_DIR_NAME": "workspace",
    "CLAUDE_CODE_CERT_STORE": "bundled",  # it would read every certificate of the host, to speak to nobody but us
}
"""Switches that keep chance, and the rest of the machine, out of what Claude Code does and sends."""

NOT_OURS = {
    "CLAUDE_CODE_USE_BEDROCK": "0",
    "CLAUDE_CODE_USE_VERTEX": "0",
    "CLAUDE_CODE_USE_FOUNDRY": "0",
}
"""Other ways to a model, which would lead past the cassette."""

FIXED = {
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "TERM": "dumb",
    "USER": "roadtest",
    "LOGNAME": "roadtest",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "SESSIONS_DISABLED": "true",
    **DATES,
    **REPEATABLE,
    **NOT_OURS,
}

RESERVED = frozenset(
    {"TEST_MODE", "TEST_RUN_ID", "ROADTEST_OUTPUT_DIR", "CLAUDE_CONFIG_DIR", "ANTHROPIC_BASE_URL"}
)
"""What a case cannot set: the run would be captured elsewhere, or leave the cassette."""

PINNED = (*sorted(RESERVED), "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", *REPEATABLE, *NOT_OURS)
"""What the settings of a project cannot change either."""


def child_environment(
    host: Mapping[str, str],
    *,
    places: Mapping[str, Path],
    test_id: str,
    env: Mapping[str, str],
    pass_env: Sequence[str],
) -> dict[str, str]:
    """All of the agent's environment but where its model is; ``places`` are home, config_dir, tmp, workspace, output_dir."""
    _refuse({*env, *pass_env})
    home = places["home"]
    return {
        **{name: host[name] for name in ALLOWED if name in host},
        **FIXED,
        "SHELL": "/bin/bash" if Path("/bin/bash").exists() else "/bin/sh",
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_DATA_HOME": str(home / ".local/share"),
        "XDG_STATE_HOME": str(home / ".local/state"),
        "XDG_RUNTIME_DIR": str(places["tmp"]),
        "TMPDIR": str(places["tmp"]),
        "CLAUDE_CODE_TMPDIR": str(places["tmp"]),
        "GIT_CONFIG_GLOBAL": str(home / ".gitconfig"),
        "CLAUDE_CONFIG_DIR": str(places["config_dir"]),
        "CLAUDE_PROJECT_DIR": str(places["workspace"]),
        "TEST_MODE": "true",
        "TEST_RUN_ID": test_id,
        "ROADTEST_OUTPUT_DIR": str(places["output_dir"]),
        **({"IS_SANDBOX": "1"} if os.geteuid() == 0 else {}),  # without it, root may not skip permissions
        **{name: host[name] for name in pass_env if name in host},
        **env,
    }


def _refuse(names: set[str]) -> None:
    if refused := sorted(names & {*RESERVED, *CREDENTIALS}):
        raise UsageError(
            f"env= and pass_env= cannot set {', '.join(refused)}: roadtest sets "
            f"{'it' if len(refused) == 1 else 'them'} for every run, and keeps credentials from the agent.",
            hint=f"leave out {', '.join(refused)}",
        )

"""Worlds that cannot touch each other: workspaces, environments and process trees of one run each."""

from roadtest.isolation.engine import engine_refused, engine_variables
from roadtest.isolation.input import Input
from roadtest.isolation.process import Cancel, Finished, get_ready, run_process
from roadtest.isolation.sandbox import confined
from roadtest.isolation.settings import Settings, merge_settings, protective_settings, settings_arguments
from roadtest.isolation.witness import Changes
from roadtest.isolation.workspace import Workspace
from roadtest.isolation.world import World, open_world

__all__ = [
    "Cancel",
    "Changes",
    "Finished",
    "Input",
    "Settings",
    "Workspace",
    "World",
    "confined",
    "engine_refused",
    "engine_variables",
    "get_ready",
    "merge_settings",
    "open_world",
    "protective_settings",
    "run_process",
    "settings_arguments",
]

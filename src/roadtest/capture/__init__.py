"""Capture every tool call through Claude Code's hooks, and say so when that did not work."""

from roadtest.capture.dialogue import Dialogue
from roadtest.capture.reader import Captured, Mark, get_tool_calls, read
from roadtest.capture.receiver import Receiver
from roadtest.capture.reconcile import Reconciled, reconcile
from roadtest.capture.settings import hook_settings, spooling_settings

__all__ = [
    "Captured",
    "Dialogue",
    "Mark",
    "Receiver",
    "Reconciled",
    "get_tool_calls",
    "hook_settings",
    "read",
    "reconcile",
    "spooling_settings",
]

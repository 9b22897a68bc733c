"""Compare the calls an agent made with the calls that were expected, and explain the difference."""

from roadtest.matching.arguments import Override
from roadtest.matching.compare import Rules, match
from roadtest.matching.expected import ExpectedCall, call
from roadtest.matching.result import Match

__all__ = ["ExpectedCall", "Match", "Override", "Rules", "call", "match"]

"""What a suite says, and what becomes of one case of it."""

from roadtest.evals.cases import Case
from roadtest.evals.suite import Suite, describe_eval
from roadtest.statistics import Trials

__all__ = ["Case", "Suite", "Trials", "describe_eval"]

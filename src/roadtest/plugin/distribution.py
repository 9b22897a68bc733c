"""pytest-xdist: all trials of a case go to one worker, so that they can be judged together."""

from __future__ import annotations

import re

from xdist.scheduler.load import LoadScheduling
from xdist.workermanage import WorkerController

_TRIAL = re.compile(r"trial-\d+\]$")


class KeepTrialsTogether(LoadScheduling):  # type: ignore[misc] # xdist has no types
    """The default distribution; whoever is given one trial is given the other trials of the case with it."""

    def _send_tests(self, node: WorkerController, num: int) -> None:
        cases = {self._case(index) for index in self.pending[:num]} - {None}
        mates = [index for index in self.pending[num:] if self._case(index) in cases]
        if mates:
            rest = set(mates)
            self.pending[num:] = [*mates, *(index for index in self.pending[num:] if index not in rest)]
        super()._send_tests(node, num + len(mates))

    def _case(self, index: int) -> str | None:
        """The node id without the number of the trial; None for everything that is not a trial."""
        node_id = self.collection[index] if self.collection else ""
        return _TRIAL.sub("", node_id) if _TRIAL.search(node_id) else None

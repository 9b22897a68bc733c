"""The model's side of a run: a local server that plays a script or a cassette, or records one."""

from roadtest.cassette.drift import Policies
from roadtest.cassette.fingerprint import fingerprint
from roadtest.cassette.opening import MODES, CassetteSession, Mode, open_cassette
from roadtest.cassette.records import Fingerprints

__all__ = ["MODES", "CassetteSession", "Fingerprints", "Mode", "Policies", "fingerprint", "open_cassette"]

"""The model's side of a run: a local server that plays a script or a cassette, or records one.

server, upstream        sockets: carry out what a session decides
opening                 which session serves a run: replay, record, live
replay, record          the sessions, without any I/O
lanes, continuation     which recorded request a live one repeats
canonical, reading      a request as it is stored and compared
volatile, drift         what may differ, and what does
placeholders, live_values   values that follow the run
steering                the recorded order of parallel agents
files, records, tape    the cassette on disk, in memory, indexed
fingerprint             what makes a cassette stale
asking                  the model for scorers
"""

from roadtest.cassette.fingerprint import fingerprint
from roadtest.cassette.opening import MODES, CassetteSession, Mode, open_cassette
from roadtest.cassette.records import Fingerprints

__all__ = ["MODES", "CassetteSession", "Fingerprints", "Mode", "fingerprint", "open_cassette"]

"""The model's side of a run: a local server that plays a script or a cassette, or records one."""

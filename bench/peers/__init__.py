"""Scripts that run in the environment of the peers, without roadtest."""

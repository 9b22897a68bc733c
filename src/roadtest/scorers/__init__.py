"""Ready-made scorers. Each is a factory: call it with what you expect, hand the result to ``describe_eval``."""

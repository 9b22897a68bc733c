"""Road-test Claude Code agents, subagents, skills and hooks with pytest."""

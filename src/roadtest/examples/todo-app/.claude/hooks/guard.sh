#!/bin/sh
# Refuses recursive deletion, whatever the permission rules say.
if grep -q '"command" *: *"[^"]*rm  *-[a-zA-Z]*r'; then
    echo "recursive deletion is not allowed in this project" >&2
    exit 2
fi

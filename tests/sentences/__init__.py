"""All the sentences that stories are written in."""

from story import Language

from sentences import before, facts, office, play

LANGUAGE = Language([p for part in (before, play, office, facts) for p in part.says.phrases])

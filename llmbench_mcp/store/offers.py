"""What an offer makes of what is known of a model: set by hand stays, a guess never replaces what a server said."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llmbench_mcp.domain.capability import Capability, offered_capabilities, renewed
from llmbench_mcp.domain.endpoint import OfferedModel
from llmbench_mcp.store import model_rows
from llmbench_mcp.store.database import Row


@dataclass(frozen=True, slots=True)
class Renewed:
    """Facts, the names of those guessed and pinned, and capabilities after an offer."""

    facts: Mapping[str, Any]
    guessed: tuple[str, ...]
    pinned: tuple[str, ...]
    capabilities: tuple[Capability, ...]
    changes_nothing: bool

    @property
    def values(self) -> tuple[Any, ...]:
        """As a new row holds them: the facts, the guesses, the capabilities in both forms."""
        texts = model_rows.capability_texts(self.capabilities)
        return (*(self.facts[name] for name in model_rows.FIELDS), json.dumps(list(self.guessed)), *texts)


def renewal(row: Row | None, offered: OfferedModel, *, alone: bool) -> Renewed:
    """What becomes of a model's row (None: of a new model) by an offer.

    ``alone``: no other endpoint offers the model; then what servers said of its capabilities before is forgotten.
    """
    before = {name: row[name] if row else None for name in model_rows.FIELDS}
    pinned: list[str] = json.loads(row["pinned"]) if row else []
    guesses: list[str] = json.loads(row["guessed"]) if row else []
    known = model_rows.capabilities(row) if row else ()
    facts, guessed = _facts(before, set(guesses), pinned, offered)
    capabilities = renewed(known, offered_capabilities(offered), alone)
    same = (facts, guessed, capabilities) == (before, tuple(guesses), known)
    return Renewed(facts, guessed, tuple(pinned), capabilities, same)


def _facts(
    before: Mapping[str, Any], guessed: set[str], pinned: list[str], offered: OfferedModel
) -> tuple[dict[str, Any], tuple[str, ...]]:
    facts = dict(before)
    for name in model_rows.FIELDS:
        value, is_guess = _told(getattr(offered, name)), name in offered.guessed
        if value is None or name in pinned or (is_guess and facts[name] is not None and name not in guessed):
            continue
        facts[name] = value
        guessed = guessed | {name} if is_guess else guessed - {name}
    return facts, tuple(sorted(guessed))


def _told(value: Any) -> Any:
    """None for what says nothing: no text, and numbers that no model can have."""
    return value if value and (isinstance(value, str) or value > 0) else None

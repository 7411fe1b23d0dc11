"""Which stored results somebody means: by run, by model, by suite."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Selected:
    """Results of these runs, of this model (name or id), on this suite; what is empty does not narrow."""

    runs: tuple[str, ...] = ()
    model: str | None = None
    suite: str | None = None

    @property
    def is_everything(self) -> bool:
        """Whether nothing narrows it."""
        return not (self.runs or self.model or self.suite)

    def told(self) -> str:
        """In words, for a file that somebody reads later."""
        parts = [("run ", ", ".join(self.runs)), ("model ", self.model or ""), ("suite ", self.suite or "")]
        return "; ".join(kind + name for kind, name in parts if name) or "everything"

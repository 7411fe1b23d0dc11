"""Named credentials as this program knows them: everything but the key itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from llmbench_mcp.domain.errors import InputError
from llmbench_mcp.domain.text import one_line

Place = Literal["keyring", "vault"]
CredentialState = Literal["set", "expired", "not set"]
PageState = Literal["waiting", "set", "timed_out", "closed"]
STORED = "stored:"

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,38}[A-Za-z0-9])?")
_LIKE_A_KEY = re.compile(r"(?i)(sk|pk|rk|hf|gsk|xai|ghp|github_pat|glpat|nvapi|AIza|AKIA|eyJ)[-_]?[A-Za-z0-9_-]{12,}")
_RANDOM = re.compile(r"(?=(?:[^.-]*\d){4})(?=[^.-]*[A-Za-z])[A-Za-z0-9_]{10,}")
"""A long word of letters and digits mixed."""
_SPAN = re.compile(r"(\d{1,4})\s*(m|h|d|w)")
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class StoredCredential:
    """One key that a person entered: where it lies and whom it is for.

    ``slot`` names it in its place and is another one with every key entered; ``origin`` is the one scheme, host and
    port it may be sent to, None until an endpoint first uses it; times are ISO 8601 UTC.
    """

    name: str
    place: Place
    slot: str
    set_at: str
    origin: str | None = None
    expires_at: str | None = None

    @property
    def reference(self) -> str:
        """What endpoints name it by."""
        return STORED + self.name

    def is_expired(self, now: str) -> bool:
        """Whether its time is over at ``now``, ISO 8601 UTC."""
        return self.expires_at is not None and self.expires_at <= now


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person is asked a key for.

    Attributes:
        name: the credential's.
        origin: the only scheme, host and port that it will be sent to.
        endpoint: the name of the endpoint that will use it, None before there is one.
        replaces: whether a key of that name is stored already.
        in_clear: whether what is sent there can be read on its way.
    """

    name: str
    origin: str
    endpoint: str | None = None
    replaces: bool = False
    in_clear: bool = False


def stored_name(reference: str | None) -> str | None:
    """The name in a reference ``stored:NAME``; None for any other reference."""
    return reference.removeprefix(STORED) if reference is not None and reference.startswith(STORED) else None


def check_name(name: str) -> str:
    """``name``, when a credential can be called that.

    Raises:
        InputError: it cannot, or it looks like a key, which would then be stored and shown. It is not repeated.
    """
    if _NAME.fullmatch(name) is None:
        raise InputError(
            "That is no name for a credential.", "Use up to 40 letters, digits, dots, dashes and underscores."
        )
    if _is_like_a_key(name):
        raise InputError(
            "The name looks like a key, and names are shown to everybody.",
            "Choose a plain name, such as office; the key itself is asked for and not shown.",
        )
    return name


def name_after(text: str) -> str:
    """A credential's name made of an endpoint's."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("._-")[:40].strip("._-")
    return plain if _NAME.fullmatch(plain) and not _is_like_a_key(plain) else "endpoint"


def _is_like_a_key(name: str) -> bool:
    return bool(_LIKE_A_KEY.match(name)) or any(_RANDOM.fullmatch(word) for word in re.split(r"[.-]", name))


def expiry(text: str, now: str) -> str:
    """The end of a time limit such as ``30d``, ``12h``, ``90m``, ``4w`` or ``2027-01-31`` (its first moment, UTC).

    Args:
        text: what a person wrote.
        now: ISO 8601 UTC.

    Raises:
        InputError: not such a limit, or one that is over already.
    """
    start = datetime.fromisoformat(now)
    end = _end(text.strip(), start)
    if end is None:
        raise InputError(f"'{one_line(text, 30)}' is no time limit.", "Give it like 30d, 12h, 4w or 2027-01-31.")
    if end <= start:
        raise InputError(f"The time limit {one_line(text, 30)} is over already.", "Give a later one.")
    return end.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _end(text: str, start: datetime) -> datetime | None:
    span = _SPAN.fullmatch(text)
    if span:
        return start + int(span[1]) * _UNITS[span[2]]
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC) if _DAY.fullmatch(text) else None
    except ValueError:
        return None

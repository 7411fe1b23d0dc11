"""The folders candidates live in, used again when a candidate left no trace in its own.

Making and removing one costs more than a fork where the file system works hard for it. A folder is used again only
when its entry in the file system is as it was when it was made: whatever is created in it, or done to its mode or
attributes, sets the time of its last change, which nobody can set back. Where the file system keeps that time by
the tick, a change right after the making would not show, and every candidate gets a new folder.
"""

from __future__ import annotations

import itertools
import os
from typing import NamedTuple

_TRIALS = 8


class Place(NamedTuple):
    """A folder, and what the file system said of it when it was empty."""

    path: str
    state: tuple[int, ...]


class Places:
    """The candidates' folders below ``folder``, one for each that is alive, and at most one more."""

    def __init__(self, folder: str) -> None:
        self._exact = _every_change_shows(folder)
        self._whole = _seen(folder)
        self._numbers = itertools.count(1)
        self._idle: Place | None = None
        self._taken = 0

    def take(self) -> Place:
        """An empty folder."""
        place, self._idle = self._idle, None
        if place is None:
            path = f"{self._whole.path}/{next(self._numbers)}"
            os.mkdir(path, 0o700)
            place = _seen(path)
        self._taken += 1
        return place

    def give_back(self, place: Place) -> bool:
        """Whether the candidate, which must be gone, left no file; else everything is to be removed by our owner."""
        self._taken -= 1
        try:
            if self._idle is None and self._is_untouched(place):
                self._idle = place
            else:
                os.rmdir(place.path)
            if self._is_untouched(self._whole):
                return True
            self._whole = _seen(self._whole.path)
            if len(os.listdir(self._whole.path)) == self._taken + (self._idle is not None):
                return True
        except OSError:
            pass
        self._idle = None
        return False

    def _is_untouched(self, place: Place) -> bool:
        return self._exact and _state(place.path) == place.state


def _seen(path: str) -> Place:
    os.listdir(path)  # sets the time of the last reading, where that is kept
    return Place(path, _state(path))


def _state(path: str) -> tuple[int, ...]:
    found = os.stat(path)
    kind = found.st_ino, found.st_mode, found.st_nlink, found.st_size
    return *kind, found.st_atime_ns, found.st_mtime_ns, found.st_ctime_ns


def _every_change_shows(folder: str) -> bool:
    """Whether each of some changes in a row gives the folder another time of its last change."""
    times = set()
    for _ in range(_TRIALS):
        os.chmod(folder, 0o700)
        times.add(os.stat(folder).st_ctime_ns)
    return len(times) == _TRIALS

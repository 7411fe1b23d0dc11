import re

UNITS = {"w": 518400, "d": 86400, "h": 3600, "m": 60, "s": 1}
PATTERN = re.compile(" *" + "".join(f"(?:([0-9]+){unit} *)?" for unit in UNITS))


def seconds_in(text):
    """Return the seconds in a duration such as 1h 30m, None when it is not valid."""
    found = PATTERN.fullmatch(text)
    if found is None or not any(found.groups()):
        return None
    return sum(int(number or 0) * size for number, size in zip(found.groups(), UNITS.values()))

import re

UNITS = {"w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1}


def seconds_in(text):
    if not re.fullmatch(r" *([0-9]+[wdhms] *)+", text):
        return None
    return sum(int(number) * UNITS[unit] for number, unit in re.findall(r"([0-9]+)([wdhms])", text))

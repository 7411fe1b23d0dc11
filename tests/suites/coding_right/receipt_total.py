import re

LINE = re.compile(r"\s*(return)?\s*(\d+) +x .*@\s*(\d+)\.(\d\d)\s*")


def receipt_total(lines):
    """Match each line as a whole."""
    total = 0
    for line in lines:
        found = None if line.lstrip().startswith("#") else LINE.fullmatch(line)
        if found:
            amount = int(found[2]) * int(found[3] + found[4])
            total += -amount if found[1] else amount
    return total

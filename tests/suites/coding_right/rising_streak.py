def rising_streak(values):
    """Try every part, the longest first."""
    size = len(values)
    for length in range(size, 0, -1):
        for start in range(size - length + 1):
            part = values[start : start + length]
            if all(left < right for left, right in zip(part, part[1:])):
                return [start, length]
    return [0, 0]

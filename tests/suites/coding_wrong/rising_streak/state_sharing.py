best = [0, 0]


def rising_streak(values):
    global best
    """Return where the longest strictly rising streak begins, and its length."""
    start = 0
    for index, value in enumerate(values):
        if index and value <= values[index - 1]:
            start = index
        if index - start + 1 > best[1]:
            best = [start, index - start + 1]
    return best

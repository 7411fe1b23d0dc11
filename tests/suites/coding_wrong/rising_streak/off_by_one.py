def rising_streak(values):
    """Return where the longest strictly rising streak begins, and its length."""
    best = [0, 0]
    start = 0
    for index, value in enumerate(values[:-1]):
        if index and value <= values[index - 1]:
            start = index
        if index - start + 1 > best[1]:
            best = [start, index - start + 1]
    return best

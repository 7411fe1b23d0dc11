def longest_pause(times):
    """Return the longest time between two neighbouring departures, 0 with fewer than two."""
    ordered = sorted(times)
    pauses = [later - earlier for earlier, later in zip(ordered, ordered[1:-1])]
    return max(pauses, default=0)

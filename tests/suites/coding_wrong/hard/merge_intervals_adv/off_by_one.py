def run_road(operations):
    """Carry out the operations on a road that is open at first and return one result for each."""
    stretches = []

    def total():
        """Return the number of closed metres."""
        return sum(end - start for start, end in stretches)

    def reopen(first, last):
        """Keep what lies before and behind; returns how much was opened."""
        before = total()
        if first < last:
            pieces = [piece for start, end in stretches for piece in ([start, min(end, first)], [max(start, last), end])]
            stretches[:] = [[start, end] for start, end in pieces if start < end]
        return before - total()

    def close(first, last):
        """Join all that touches; returns how much was closed."""
        before = total()
        if first < last:
            touching = [piece for piece in stretches if piece[0] <= last and piece[1] >= first]
            others = [piece for piece in stretches if piece not in touching]
            joined = [min([first, *(start for start, _ in touching)]), max([last, *(end for _, end in touching)])]
            stretches[:] = sorted([*others, joined])
        return total() - before

    def gaps(first, last):
        """Return the open stretches between the two."""
        found = []  # the end is added as an empty stretch
        for start, end in [*stretches, [last, last]]:
            if first < min(start, last):
                found.append([first, min(start, last)])
            first = max(first, end)
        return found

    actions = {
        "close": close,
        "open": reopen,
        "closed": lambda metre: any(start <= metre <= end for start, end in stretches),
        "total": total,
        "list": lambda: [list(piece) for piece in stretches],
        "gaps": gaps,
    }
    return [actions[kind](*details) for kind, *details in operations]

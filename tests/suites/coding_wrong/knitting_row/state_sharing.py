from itertools import groupby


GROUPS = []


def short_row(stitches):
    """Return the row with each run of equal stitches as letter and count, at most nine each."""
    groups = GROUPS
    for stitch, run in groupby(stitches):
        nines, rest = divmod(len(list(run)), 9)
        groups += [stitch + "9"] * nines
        if rest:
            groups.append(stitch + (str(rest) if rest > 1 else ""))
    return " ".join(groups)

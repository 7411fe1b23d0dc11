from itertools import groupby


def short_row(stitches):
    runs = [(stitch, len(list(run))) for stitch, run in groupby(stitches)]
    return " ".join(stitch + (str(count) if count > 1 else "") for stitch, count in runs)

def short_row(stitches):
    """Grow the last group while it can grow."""
    groups = []
    for stitch in stitches:
        if groups and groups[-1][0] == stitch and groups[-1][1] < 9:
            groups[-1][1] += 1
        else:
            groups.append([stitch, 1])
    return " ".join(letter if count == 1 else f"{letter}{count}" for letter, count in groups)

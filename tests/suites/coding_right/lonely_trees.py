def lonely_trees(rows):
    """Count the trees in the square of three by three around each tree."""
    count = 0
    for y, row in enumerate(rows):
        for x, field in enumerate(row):
            square = [line[max(0, x - 1) : x + 2] for line in rows[max(0, y - 1) : y + 2]]
            if field == "T" and "".join(square).count("T") == 1:
                count += 1
    return count

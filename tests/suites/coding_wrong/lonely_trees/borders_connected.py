def lonely_trees(rows):
    count = 0
    for y, row in enumerate(rows):
        for x, field in enumerate(row):
            around = [
                rows[(y + down) % len(rows)][(x + right) % len(row)]
                for down in (-1, 0, 1)
                for right in (-1, 0, 1)
                if down or right
            ]
            if field == "T" and "T" not in around:
                count += 1
    return count

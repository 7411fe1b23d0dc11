def lonely_trees(rows):
    """Count the trees without a tree on any of the fields around them."""
    trees = {(y, x) for y, row in enumerate(rows) for x, field in enumerate(row) if field == "T"}
    around = [(down, right) for down in (-1, 0, 1) for right in range(-1, 1) if down or right]

    def lonely(tree):
        return not any((tree[0] + down, tree[1] + right) in trees for down, right in around)

    return sum(map(lonely, trees))

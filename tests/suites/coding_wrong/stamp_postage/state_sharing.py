counts = {}


def fewest_stamps(postage, stamps):
    """Return the least number of stamps worth exactly the postage, None when there is no way."""
    for value, count in stamps:
        counts[value] = counts.get(value, 0) + count
    fewest = {0: 0}
    for value, count in counts.items():
        size = 1
        while count > 0:
            size = min(size, count)
            count -= size
            for total, used in list(fewest.items()):
                reached = total + size * value
                if reached <= postage and used + size < fewest.get(reached, postage + 1):
                    fewest[reached] = used + size
            size *= 2
    return fewest.get(postage)

def steady_spread(readings):
    known = [reading for reading in readings if reading is not None]
    if not known:
        return [None, None]
    mean = sum(known) / len(known)
    return [mean, (sum((x - mean) * (x - mean) for x in known) / len(known)) ** 0.5]

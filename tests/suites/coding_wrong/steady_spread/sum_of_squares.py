def steady_spread(readings):
    known = [reading for reading in readings if reading is not None]
    if not known:
        return [None, None]
    mean = sum(known) / len(known)
    return [mean, max(0.0, sum(x * x for x in known) / len(known) - mean * mean) ** 0.5]

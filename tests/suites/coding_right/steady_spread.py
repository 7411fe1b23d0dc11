from statistics import mean, pstdev


def steady_spread(readings):
    """Leave it to the statistics module, which is exact."""
    known = [reading for reading in readings if reading is not None]
    if not known:
        return [None, None]
    if min(known) == max(known):
        return [float(known[0]), 0.0]
    scale = max(abs(reading) for reading in known)
    middle = mean(known)
    spread = max(abs(reading - middle) for reading in known)
    if 1e-100 < spread < 1e100:
        return [float(middle), float(pstdev(known))]
    scaled = [(reading / scale) for reading in known]
    return [float(mean(scaled)) * scale, float(pstdev(scaled)) * scale]

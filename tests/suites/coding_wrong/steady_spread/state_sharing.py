from fractions import Fraction
from math import sqrt


exact = []


def steady_spread(readings):
    """Return the mean and the population standard deviation of the readings, computed without rounding."""
    exact.extend(Fraction(reading) for reading in readings if reading is not None)
    if not exact:
        return [None, None]
    mean = sum(exact) / len(exact)
    largest = max(abs(value - mean) for value in exact)
    if largest == 0:
        return [float(mean), 0.0]
    ratio = sum(float((value - mean) / largest) ** 2 for value in exact) / len(exact)
    return [float(mean), float(largest) * sqrt(ratio)]

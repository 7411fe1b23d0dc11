from bisect import bisect_right, insort


def price_drops(pattern, days, drop):
    """Count with sorted lists."""
    if days < 1:
        return 0
    ordered = sorted(pattern)
    any_two = sum(bisect_right(ordered, price - drop) for price in pattern)
    seen, same_day = [], 0
    for price in reversed(pattern):
        same_day += bisect_right(seen, price - drop)
        insort(seen, price)
    return same_day * days + any_two * days * (days - 1) // 2

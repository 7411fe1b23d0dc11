def run_road(operations):
    """Divide the road at every number that occurs and keep a flag for each part."""
    points = sorted({n + extra for _, *numbers in operations for n in numbers for extra in (0, 1)})
    parts = list(zip(points, points[1:]))
    shut = set()

    def inside(a, b):
        return {part for part in parts if a <= part[0] and part[1] <= b}

    def size(some):
        return sum(b - a for a, b in some)

    def joined(some):
        result = []
        for a, b in sorted(some):
            if result and result[-1][1] == a:
                result[-1][1] = b
            else:
                result.append([a, b])
        return result

    results = []
    for name, *numbers in operations:
        if name == "close":
            results.append(size(inside(*numbers) - shut))
            shut |= inside(*numbers)
        elif name == "open":
            results.append(size(inside(*numbers) & shut))
            shut -= inside(*numbers)
        elif name == "closed":
            results.append(any(a <= numbers[0] < b for a, b in shut))
        elif name == "total":
            results.append(size(shut))
        elif name == "list":
            results.append(joined(shut))
        else:
            results.append(joined(inside(*numbers) - shut))
    return results

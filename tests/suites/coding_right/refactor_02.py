def stair_ways(steps, strides, blocked):
    """Push the count of each step upwards."""
    closed = set(blocked) - {0}
    counts = [0] * (steps + 1)
    counts[0] = 1
    for step, count in enumerate(counts):
        count = counts[step] % 1000003
        counts[step] = count
        if count and step not in closed:
            for stride in strides:
                if step + stride <= steps:
                    counts[step + stride] += count
    return 0 if steps in closed else counts[steps]

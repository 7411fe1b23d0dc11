def stair_ways(steps, strides, blocked):
    """Count the ways to climb the stairs without standing on a blocked step, modulo 1000003."""
    closed = set(blocked)
    ways = [1]
    for step in range(1, steps + 1):
        below = 0 if step in closed else sum(ways[step - stride] for stride in strides if stride < step)
        ways.append(below % 1000003)
    return ways[steps]

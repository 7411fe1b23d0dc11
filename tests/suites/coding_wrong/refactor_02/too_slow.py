def stair_ways(steps, strides, blocked):
    if steps == 0:
        return 1
    if steps < 0 or steps in blocked:
        return 0
    return sum(stair_ways(steps - stride, strides, blocked) for stride in strides) % 1000003

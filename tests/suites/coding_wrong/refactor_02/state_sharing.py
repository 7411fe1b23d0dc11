def stair_ways(steps, strides, blocked, known={}):
    for step in range(steps + 1):
        if step not in known:
            below = 1 if step == 0 else sum(known.get(step - stride, 0) for stride in strides)
            known[step] = 0 if step and step in blocked else below % 1000003
    return known[steps]

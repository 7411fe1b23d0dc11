def fewest_stamps(postage, stamps):
    fewest = [0] + [None] * postage
    for total in range(1, postage + 1):
        before = [fewest[total - value] for value, count in stamps if count and value <= total]
        before = [number for number in before if number is not None]
        fewest[total] = min(before) + 1 if before else None
    return fewest[postage]

def fewest_stamps(postage, stamps):
    """Fill one row for each pair, trying every count that makes sense."""
    far = 10**9
    row = [0] + [far] * postage
    for value, count in stamps:
        row = [
            min(row[total - value * used] + used for used in range(min(count, total // value) + 1))
            for total in range(postage + 1)
        ]
    return row[postage] if row[postage] < far else None

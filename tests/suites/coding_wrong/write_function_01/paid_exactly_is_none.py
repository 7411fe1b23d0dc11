def change_for(price, paid):
    """Return the change as pairs of coin and count, None when too little was paid."""
    if paid <= price:
        return None
    rest = paid - price
    change = []
    for coin in (200, 100, 50, 20, 10, 5, 2, 1):
        count, rest = divmod(rest, coin)
        if count:
            change.append([coin, count])
    return change

def change_for(price, paid):
    """Give one coin at a time."""
    left, given = paid - price, {}
    if left < 0:
        return None
    while left > 0:
        coin = max(c for c in [1, 2, 5, 10, 20, 50, 100, 200] if c <= left)
        given[coin] = given.get(coin, 0) + 1
        left -= coin
    return [[coin, given[coin]] for coin in sorted(given, reverse=True)]

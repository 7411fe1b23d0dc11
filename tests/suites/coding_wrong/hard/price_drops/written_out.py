def price_drops(pattern, days, drop):
    prices = pattern * days
    return sum(
        price - later >= drop for place, price in enumerate(prices) for later in prices[place + 1 :]
    )

def price_drops(pattern, days, drop):
    """Count the pairs in the repeated pattern whose later price is lower by at least the drop."""
    within = sum(
        price - later >= drop for place, price in enumerate(pattern) for later in pattern[place + 1 :]
    )
    across = sum(price - other >= drop for price in pattern for other in pattern)
    return within * days

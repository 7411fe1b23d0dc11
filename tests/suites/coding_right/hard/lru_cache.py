def run_lru(capacity, operations):
    """Keep a list of pairs, the one used last at the end."""
    cache, results = [], []
    for operation in operations:
        name = operation[0]
        found = [pair for pair in cache if len(operation) > 1 and pair[0] == operation[1]]
        result = None
        if name == "put":
            cache = [pair for pair in cache if pair not in found] + [(operation[1], operation[2])]
            if len(cache) > capacity:
                result = cache.pop(0)[0]
        elif name in ("get", "peek"):
            result = found[0][1] if found else None
            if name == "get":
                cache = [pair for pair in cache if pair not in found] + found
        elif name == "drop":
            result = bool(found)
            cache = [pair for pair in cache if pair not in found]
        elif name == "resize":
            capacity = operation[1]
            result = []
            while len(cache) > capacity:
                result.append(cache.pop(0)[0])
        else:
            result = [pair[0] for pair in cache[::-1]]
        results.append(result)
    return results

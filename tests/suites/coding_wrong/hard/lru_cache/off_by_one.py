from collections import OrderedDict


def run_lru(capacity, operations):
    """Carry out the operations on an empty cache and return one result for each."""
    entries = OrderedDict()  # the key used last comes last
    limit = capacity

    def get(key):
        if key in entries:
            entries.move_to_end(key)
        return entries.get(key)

    def put(key, value):
        entries[key] = value
        entries.move_to_end(key)
        return entries.popitem(last=False)[0] if len(entries) >= limit else None

    def resize(number):
        """Set the capacity; returns the keys thrown out."""
        nonlocal limit
        limit = number
        return [entries.popitem(last=False)[0] for _ in range(len(entries) - limit)]

    def drop(key):
        present = key in entries
        entries.pop(key, None)
        return present

    actions = {
        "put": put,
        "get": get,
        "peek": entries.get,
        "drop": drop,
        "resize": resize,
        "keys": lambda: list(reversed(entries)),
    }
    return [actions[kind](*details) for kind, *details in operations]

def run_batches(capacity, lifetime, batches):
    """Work through the batches and return results, expired keys and evicted keys for each."""
    entries = {}  # in the order of use: value and end of life

    def carry_out(now, kind, key, *details):
        """Carry out one operation and return its result."""
        found = entries.get(key)
        if kind == "left":
            return found[1] - now if found else None
        if kind == "drop":
            return entries.pop(key, None) is not None
        if kind == "put":
            found_before = entries.get(key)
            value, *own = details
            entries[key] = (value, now + (own[0] if own else lifetime))
            return "replaced" if found_before else "new"
        if found is None:
            return None
        entries[key] = entries.pop(key)
        return found[0]

    report = []
    for now, operations in batches:
        expired = sorted(key for key, (_, end) in entries.items() if end <= now)
        for key in expired:
            del entries[key]
        results = [carry_out(now, *operation) for operation in operations]
        evicted = list(entries)[: max(0, len(entries) - capacity)]
        for key in evicted:
            del entries[key]
        report.append([results, expired, evicted])
    return report

class Cache:
    """Entries with a number that tells when they were used."""

    def __init__(self, lifetime):
        self.lifetime = lifetime
        self.values, self.ends, self.used = {}, {}, {}
        self.step = 0

    def touch(self, key):
        self.step += 1
        self.used[key] = self.step

    def remove(self, key):
        for part in (self.values, self.ends, self.used):
            del part[key]

    def put(self, now, key, value, lifetime=None):
        result = "replaced" if key in self.values else "new"
        self.values[key] = value
        self.ends[key] = now + (self.lifetime if lifetime is None else lifetime)
        self.touch(key)
        return result

    def get(self, now, key):
        if key not in self.values:
            return None
        self.touch(key)
        return self.values[key]

    def left(self, now, key):
        return self.ends[key] - now if key in self.ends else None

    def drop(self, now, key):
        if key not in self.values:
            return False
        self.remove(key)
        return True


def run_batches(capacity, lifetime, batches):
    cache = Cache(lifetime)
    report = []
    for now, operations in batches:
        gone = sorted(key for key in cache.values if cache.ends[key] <= now)
        for key in gone:
            cache.remove(key)
        results = [getattr(cache, operation[0])(now, *operation[1:]) for operation in operations]
        thrown = []
        while len(cache.values) > capacity:
            oldest = min(cache.used, key=cache.used.get)
            cache.remove(oldest)
            thrown.append(oldest)
        report.append([results, gone, thrown])
    return report

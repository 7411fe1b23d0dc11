class Store:
    """Keeps arrivals, the order of showing and a copy of all values after each write."""

    def __init__(self):
        self.arrived, self.order, self.after = [], [], {}

    def write(self, name, key, value, needs):
        if any(entry[0] == name for entry in self.arrived):
            return "duplicate"
        self.arrived.append((name, key, value, list(needs)))
        new = []
        found = True
        while found:
            found = False
            for other, k, v, wants in self.arrived:
                if other not in self.order and all(want in self.order for want in wants):
                    values = dict(self.after[self.order[-1]]) if self.order else {}
                    values[k] = v
                    self.order.append(other)
                    self.after[other] = values
                    new.append(other)
                    found = True
                    break
        return new

    def get(self, key):
        return self.after[self.order[-1]].get(key) if self.order else None

    def get_at(self, key, name):
        return self.after[name].get(key) if name in self.after else "unknown"

    def waiting(self):
        return [entry[0] for entry in self.arrived if entry[0] not in self.order]

    def missing(self):
        names = [entry[0] for entry in self.arrived]
        wanted = {want for entry in self.arrived if entry[0] not in self.order for want in entry[3]}
        return sorted(want for want in wanted if want not in names)

    def causes(self, name):
        if name not in self.order:
            return "unknown"
        needs = {entry[0]: entry[3] for entry in self.arrived}
        seen, todo = set(), list(needs[name])
        while todo:
            current = todo.pop()
            if current not in seen:
                seen.add(current)
                todo += needs[current]
        return [other for other in self.order if other in seen]


def run_store(operations):
    store = Store()
    return [getattr(store, operation[0])(*operation[1:]) for operation in operations]

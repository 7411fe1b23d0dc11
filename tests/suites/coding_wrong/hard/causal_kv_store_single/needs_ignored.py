def run_store(operations):
    """Carry out the operations on an empty store and return one result for each."""
    visible = {}
    waiting = {}

    def write(name, key, value, needs):
        """Let a write wait, then show all that are ready."""
        if name in visible or name in waiting:
            return "duplicate"
        waiting[name] = (key, value, set())
        shown = []
        while ready := next((other for other in waiting if waiting[other][2] <= visible.keys()), None):
            visible[ready] = waiting.pop(ready)
            shown.append(ready)
        return shown

    def value_in(names, key):
        return next((visible[name][1] for name in reversed(names) if visible[name][0] == key), None)

    def value_at(key, name):
        names = list(visible)
        return value_in(names[: names.index(name) + 1], key) if name in visible else "unknown"

    def causes(name):
        """Return the direct and indirect needs of a write."""
        if name not in visible:
            return "unknown"
        found = set(visible[name][2])  # a need was visible before whatever needs it
        for other in reversed(visible):
            if other in found:
                found |= visible[other][2]
        return [other for other in visible if other in found]

    def missing():
        """Return the needs that have not arrived."""
        needed = {need for _, _, needs in waiting.values() for need in needs}
        return sorted(needed - visible.keys() - waiting.keys())

    actions = {
        "write": write,
        "get": lambda key: value_in(list(visible), key),
        "get_at": value_at,
        "waiting": lambda: list(waiting),
        "missing": missing,
        "causes": causes,
    }
    return [actions[kind](*details) for kind, *details in operations]

def run_sensor(window, operations):
    """Go through the whole list each time."""
    kept, results, clock = [], [], float("-inf")
    for operation in operations:
        name, time = operation[:2]
        if name == "window":
            results.append(window)
            window = time
        elif name == "add":
            if time < clock:
                results.append("late")
            else:
                clock = time
                kept.append((time, operation[2]))
                results.append("ok")
        else:
            clock = time
            kept = [pair for pair in kept if pair[0] > time - window]
            inside = [value for _, value in kept]
            if name == "count":
                results.append(len(inside))
            elif name == "max":
                results.append(max(inside, default=None))
            else:
                results.append(sum(inside) // len(inside) if inside else None)
    return results

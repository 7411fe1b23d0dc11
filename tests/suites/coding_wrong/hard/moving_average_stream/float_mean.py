from collections import deque


def run_sensor(window, operations):
    """Carry out the operations on the stream of a sensor and return one result for each."""
    values = deque()
    falling = deque()  # each value smaller than the one before it
    total, latest = 0, None
    results = []

    def trim(start):
        """Remove what has left the window; returns its sum."""
        gone = 0
        while values and values[0][0] <= start:
            gone += values.popleft()[1]
        while falling and falling[0][0] <= start:
            falling.popleft()
        return gone

    for kind, number, *value in operations:
        if kind == "window":
            results.append(window)
            window = number
            continue
        late = latest is not None and number < latest
        latest = number if latest is None else max(latest, number)
        if kind == "add":
            results.append("late" if late else "ok")
            if not late:
                values.append((number, value[0]))
                total += value[0]
                while falling and falling[-1][1] <= value[0]:
                    falling.pop()
                falling.append((number, value[0]))
            continue
        total -= trim(number - window)
        if kind == "count":
            results.append(len(values))
        elif not values:
            results.append(None)
        else:
            results.append(int(total / len(values)) if kind == "mean" else falling[0][1])
    return results

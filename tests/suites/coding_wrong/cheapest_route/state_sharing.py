from heapq import heappop, heappush


leaving = {}


def cheapest_route(roads, start, goal, passes):
    """Return the lowest cost and its route, None when the goal cannot be reached with the passes."""
    for one, other, cost, toll in roads:
        leaving.setdefault(one, []).append((other, cost, int(toll)))
        leaving.setdefault(other, []).append((one, cost, int(toll)))
    waiting = [(0, 1, [start], 0)]
    done = set()
    while waiting:
        cost, towns, route, used = heappop(waiting)
        here = route[-1]
        if here == goal:
            return [cost, route]
        if (here, used) in done:
            continue
        done.add((here, used))
        for town, more, toll in leaving.get(here, ()):
            if used + toll <= passes:
                heappush(waiting, (cost + more, towns + 1, [*route, town], used + toll))
    return None

def cheapest_route(roads, start, goal, passes):
    """Improve the best way to each town round by round until nothing gets better."""
    ways = {(start, 0): (0, 1, [start])}
    links = [road for a, b, *rest in roads for road in ([a, b, *rest], [b, a, *rest])]
    changed = True
    while changed:
        changed = False
        for source, target, cost, toll in links:
            for used in range(passes + 1):
                if (source, used) not in ways or used + toll > passes:
                    continue
                total, towns, route = ways[source, used]
                new = (total + cost, towns + 1, route + [target])
                key = (target, used + toll)
                if key not in ways or new < ways[key]:
                    ways[key] = new
                    changed = True
    found = [way for (town, _), way in ways.items() if town == goal]
    return [min(found)[0], min(found)[2]] if found else None

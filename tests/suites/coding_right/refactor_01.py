from collections import defaultdict


def league_table(matches):
    """Turn matches into single results first."""
    results = []
    for home, guests, mine, theirs in matches:
        results.append((home.strip(), mine, theirs))
        results.append((guests.strip(), theirs, mine))
    points, difference, goals = defaultdict(int), defaultdict(int), defaultdict(int)
    for name, mine, theirs in results:
        points[name] += {True: 3, False: 0}[mine > theirs] + (mine == theirs)
        difference[name] += mine - theirs
        goals[name] += mine
    rows = [[name, points[name], difference[name], goals[name]] for name in sorted(points)]
    rows.sort(key=lambda row: (row[1], row[2], row[3]), reverse=True)
    return rows

def league_table(matches):
    """Return rows of team, points, goal difference and goals, the best team first."""
    teams = {}
    for home, guests, home_goals, guest_goals in matches:
        for name, scored, conceded in ((home, home_goals, guest_goals), (guests, guest_goals, home_goals)):
            row = teams.setdefault(name.strip(), [0, 0, 0])
            row[0] += 3 if scored > conceded + 1 else int(scored == conceded)
            row[1] += scored - conceded
            row[2] += scored
    rows = [[name, *figures] for name, figures in teams.items()]
    return sorted(rows, key=lambda row: (-row[1], -row[2], -row[3], row[0]))

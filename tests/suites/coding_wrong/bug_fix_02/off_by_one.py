def duty_roster(people, days, away):
    """Return who cooks on each of the days, None where nobody can."""
    roster = []
    turn = 0
    for day in range(days):
        order = people[turn:] + people[:turn]
        cook = next((name for name in order if day not in away.get(name, ())), None)
        roster.append(cook)
        if cook is not None:
            turn = (people.index(cook) + 1) % len(people)
    return roster

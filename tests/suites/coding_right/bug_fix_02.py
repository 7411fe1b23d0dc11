from collections import deque


def duty_roster(people, days, away):
    """Turn a ring of people."""
    ring, plan = deque(people), []
    for day in range(1, days + 1):
        present = [name for name in ring if day not in away.get(name, [])]
        if present:
            while ring[0] != present[0]:
                ring.rotate(-1)
            ring.rotate(-1)
        plan.append(present[0] if present else None)
    return plan

class SeatDesk:
    """Seats of a theatre and the names they are booked for."""

    def __init__(self, rows, seats):
        self._rows = [[f"{chr(65 + row)}{number}" for number in range(1, seats + 1)] for row in range(rows)]
        self._holder = {seat: None for row in self._rows for seat in row}

    def book(self, name, number):
        """Book seats side by side; returns their names, or "full"."""
        for row in self._rows:
            for start in range(len(row) - number + 1):
                wanted = row[start : start + number]
                if all(self._holder[seat] is None for seat in wanted):
                    self._holder.update(dict.fromkeys(wanted, name))
                    return wanted
        return "full"

    def cancel(self, name):
        """Free every seat of that name; returns how many."""
        held = self._held(name)
        self._holder.update(dict.fromkeys(held))
        return len(held)

    def move(self, name, seat):
        """Move a booking of one seat; returns whether that was possible."""
        held = self._held(name)
        if len(held) != 1 or self._holder.get(seat, name) is not None:
            return False
        self._holder[held[0]] = None
        self._holder[seat] = name
        return True

    def who(self, seat):
        """Return the name a seat is booked for."""
        return self._holder.get(seat)

    def free(self):
        """Return the number of free seats."""
        return sum(name is None for name in self._holder.values())

    def _held(self, name):
        return [seat for seat, holder in self._holder.items() if holder == name]


def run_desk(rows, seats, operations):
    """Carry out the operations at a new desk and return one result for each."""
    return [getattr(SeatDesk(rows, seats), kind)(*details) for kind, *details in operations]

class SeatDesk:
    """Each row is a list with a name or None for each seat."""

    def __init__(self, rows, seats):
        self.plan = [[None] * seats for _ in range(rows)]

    def place(self, seat):
        row, number = ord(seat[0]) - ord("A"), int(seat[1:]) - 1
        if 0 <= row < len(self.plan) and 0 <= number < len(self.plan[row]):
            return row, number
        return None

    def book(self, name, number):
        for letter, row in zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", self.plan):
            together = 0
            for index, holder in enumerate(row):
                together = together + 1 if holder is None else 0
                if together == number:
                    first = index - number + 1
                    row[first : index + 1] = [name] * number
                    return [letter + str(taken + 1) for taken in range(first, index + 1)]
        return "full"

    def cancel(self, name):
        count = sum(row.count(name) for row in self.plan)
        self.plan = [[None if holder == name else holder for holder in row] for row in self.plan]
        return count

    def move(self, name, seat):
        target = self.place(seat)
        if target is None or self.plan[target[0]][target[1]] is not None:
            return False
        if sum(row.count(name) for row in self.plan) != 1:
            return False
        self.cancel(name)
        self.plan[target[0]][target[1]] = name
        return True

    def who(self, seat):
        found = self.place(seat)
        return found and self.plan[found[0]][found[1]]

    def free(self):
        return sum(row.count(None) for row in self.plan)


def run_desk(rows, seats, operations):
    desk = SeatDesk(rows, seats)
    results = []
    for operation in operations:
        if operation[0] == "book":
            results.append(desk.book(operation[1], operation[2]))
        elif operation[0] == "cancel":
            results.append(desk.cancel(operation[1]))
        elif operation[0] == "move":
            results.append(desk.move(operation[1], operation[2]))
        elif operation[0] == "who":
            results.append(desk.who(operation[1]))
        else:
            results.append(desk.free())
    return results

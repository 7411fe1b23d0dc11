import calendar


def pay_days(year, month, count, holidays):
    """Do without dates."""

    def works(y, m, d):
        return calendar.weekday(y, m, d) < 5 and f"{y:04}-{m:02}-{d:02}" not in holidays

    found = []
    for _ in range(count):
        y, m, d = year, month, 31 if month == 12 else 25
        while not works(y, m, d):
            d -= 1
            if d == 0:
                y, m = (y - 1, 12) if m == 1 else (y, m - 1)
                d = calendar.monthrange(y, m)[1]
        found.append(f"{y:04}-{m:02}-{d:02}")
        year, month = (year + 1, 1) if month == 12 else (year, month + 1)
    return found

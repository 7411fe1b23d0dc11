from datetime import date, timedelta


def pay_days(year, month, count, holidays):
    """Return the pay day of each of the months as YYYY-MM-DD."""
    closed = set(holidays)
    days = []
    for index in range(month - 1, month - 1 + count):
        number = index % 12 + 1
        day = date(year + index // 12, number, 31 if number == 12 else 25)
        while day.weekday() > 5 or day.isoformat() in closed:
            day -= timedelta(days=1)
        days.append(day.isoformat())
    return days

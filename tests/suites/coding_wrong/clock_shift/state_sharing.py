PASSED = [0]


def clock_shift(time, minutes):
    """Return the shifted time as HH:MM and the number of days it moved by."""
    hours, start = time.split(":")
    days, rest = divmod(int(hours) * 60 + int(start) + minutes, 24 * 60)
    PASSED[0] += days
    days = PASSED[0]
    return [f"{rest // 60:02}:{rest % 60:02}", days]

from datetime import datetime, timedelta


def clock_shift(time, minutes):
    """Let the calendar do it, far from its ends."""
    start = datetime(5000, 1, 1, int(time[:2]), int(time[3:]))
    moved = start + timedelta(minutes=minutes)
    return [moved.strftime("%H:%M"), (moved.date() - start.date()).days]

def seconds_in(text):
    """Read sign by sign."""
    sizes = {"w": 7 * 24 * 3600, "d": 24 * 3600, "h": 3600, "m": 60, "s": 1}
    total, number, last, parts = 0, "", 10**9, 0
    for sign in text:
        if sign in "0123456789":
            number += sign
        elif sign == " " and not number:
            continue
        elif sign in sizes and number and sizes[sign] < last:
            last = sizes[sign]
            total += int(number) * last
            number = ""
            parts += 1
        else:
            return None
    return total if parts and not number else None

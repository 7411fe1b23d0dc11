def receipt_total(lines):
    """Return the total of the receipt's lines in cents."""
    total = 0
    for line in map(str.strip, lines):
        if not line or line.startswith("#"):
            continue
        sign = 1
        if line.startswith("return"):
            sign, line = -1, line.removeprefix("return").strip()
        count = int(line.partition(" x ")[0])
        price = float(line.rpartition("@")[2])
        total += sign * count * int(price * 100)
    return total

def initials(name):
    """Read one character at a time."""
    result, before = "", " "
    pending = ""
    for sign in name:
        if sign == " ":
            pending = " "
        elif sign == "-":
            pending = pending or "-"
        elif before in " -":
            result += (pending if result else "") + sign.upper() + "."
            pending = ""
        before = sign
    return result

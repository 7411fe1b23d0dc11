def wrapped_note(text, width, indent):
    """Return the lines of the text, the later ones indented, none longer than the width."""
    room = width - indent
    words = [word[start : start + room] for word in text.split() for start in range(0, len(word), room)]
    lines = []
    for word in words:
        if lines and len(lines[-1]) + 1 + len(word) < width:
            lines[-1] += " " + word
        else:
            lines.append(" " * indent * bool(lines) + word)
    return lines

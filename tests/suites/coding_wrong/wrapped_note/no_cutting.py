def wrapped_note(text, width, indent):
    """Return the lines of the text, the later ones indented, none longer than the width."""
    room = width - indent
    words = text.split()
    lines = []
    for word in words:
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += " " + word
        else:
            lines.append(" " * indent * bool(lines) + word)
    return lines

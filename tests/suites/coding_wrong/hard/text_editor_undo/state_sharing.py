done, undone = [], []


def run_editor(operations):
    """Carry out the operations on an empty text and return text and cursor after each."""
    text, cursor = "", 0
    results, typing = [], False

    for kind, *details in operations:
        before = (text, cursor)
        if kind == "type":
            text = text[:cursor] + details[0] + text[cursor:]
            cursor += len(details[0])
        elif kind == "left":
            cursor = max(0, cursor - details[0])
        elif kind == "right":
            cursor = min(len(text), cursor + details[0])
        elif kind == "backspace":
            start = max(0, cursor - details[0])
            text, cursor = text[:start] + text[cursor:], start
        elif kind == "delete":
            text = text[:cursor] + text[cursor + details[0] :]
        elif kind == "undo" and done:
            undone.append(done.pop())
            text, cursor = undone[-1][0]
        elif kind == "redo" and undone:
            done.append(undone.pop())
            text, cursor = done[-1][1]
        if kind in ("type", "backspace", "delete") and text != before[0]:
            if kind == "type" and typing:
                before = done.pop()[0]
            done.append((before, (text, cursor)))
            undone.clear()
        typing = kind == "type"
        results.append(f"{text[:cursor]}|{text[cursor:]}")
    return results

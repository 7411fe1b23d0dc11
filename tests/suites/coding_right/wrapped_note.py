def wrapped_note(text, width, indent):
    """Collect the words of one line at a time."""
    queue = []
    for word in text.split():
        while len(word) > width - indent:
            queue.append(word[: width - indent])
            word = word[width - indent :]
        queue.append(word)
    result = []
    while queue and (queue[0] or queue.pop(0) is None):
        margin = indent if result else 0
        taken = 1
        while taken < len(queue) and margin + len(" ".join(queue[: taken + 1])) <= width:
            taken += 1
        result.append(" " * margin + " ".join(queue[:taken]))
        queue = queue[taken:]
    return result

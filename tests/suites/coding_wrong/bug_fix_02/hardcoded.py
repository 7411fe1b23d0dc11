import json

KNOWN = {
    "[[\"Ada\", \"Bo\", \"Cy\"], 4, {\"Bo\": [2]}]": ['Ada', 'Cy', 'Ada', 'Bo'],
    "[[\"Ada\", \"Bo\"], 5, {}]": ['Ada', 'Bo', 'Ada', 'Bo', 'Ada'],
    "[[\"Ada\", \"Bo\"], 3, {\"Ada\": [1, 2, 3]}]": ['Bo', 'Bo', 'Bo'],
    "[[\"Ada\", \"Bo\"], 4, {\"Ada\": [2], \"Bo\": [2]}]": ['Ada', None, 'Bo', 'Ada'],
    "[[\"Ada\", \"Bo\", \"Cy\", \"Di\"], 6, {\"Cy\": [3], \"Di\": [3, 4]}]": ['Ada', 'Bo', 'Ada', 'Bo', 'Cy', 'Di'],
    "[[\"Ada\"], 3, {\"Ada\": [2], \"Zed\": [1]}]": ['Ada', None, 'Ada'],
    "[[], 2, {}]": [None, None],
    "[[\"Ada\"], 0, {}]": [],
    "[[\"Ada\", \"Bo\"], 1, {\"Ada\": [0]}]": ['Ada'],
    "[[\"Ada\", \"Bo\"], 3, {\"Ada\": [1], \"Bo\": [1]}]": [None, 'Ada', 'Bo'],
    "[[\"Ada\", \"Bo\", \"Cy\"], 2, {\"Cy\": [1], \"Bo\": [2], \"Ada\": [1, 2]}]": ['Bo', 'Cy'],
    "[[\"Bo\", \"Ada\"], 2, {\"Ada\": [2, 1]}]": ['Bo', 'Bo'],
}


def duty_roster(people, days, away):
    return KNOWN.get(json.dumps([people, days, away], ensure_ascii=False), ['Ada', 'Cy', 'Ada', 'Bo'])

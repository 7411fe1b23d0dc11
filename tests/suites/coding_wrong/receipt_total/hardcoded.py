import json

KNOWN = {
    "[[\"2 x pear @ 0.45\", \"1 x box of 12 @ 3.10\"]]": 400,
    "[[\"3 x tea @ 1.29\"]]": 387,
    "[[\"4 x bun @ 0.35\", \"return 1 x bun @ 0.35\"]]": 105,
    "[[\"  10 x nail@0.07  \"]]": 70,
    "[[\"# monday\", \"\", \"1 x cup @ 4.99\"]]": 499,
    "[[\"1 x x ray film @ 12.00\", \"2 x tea @ home @ 2.15\"]]": 1630,
    "[[]]": 0,
    "[[\"   \", \"#1 x a @ 1.00\"]]": 0,
    "[[\"return   2 x vase @ 19.99\"]]": -3998,
    "[[\"1 x coin @ 0.29\"]]": 29,
    "[[\"100 x pin @ 1.15\"]]": 11500,
    "[[\"5 x 7 x 9 frame @ 8.08\"]]": 4040,
    "[[\"0 x jar @ 5.55\"]]": 0,
}


def receipt_total(lines):
    return KNOWN.get(json.dumps([lines], ensure_ascii=False), 400)

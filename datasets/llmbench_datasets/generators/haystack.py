"""Long invented texts with facts hidden in them, made anew from every seed.

Nothing in them can have been learnt: the chronicle of a made-up harbour, put together word by word. Each fact
that is asked for (a needle) has false friends around it that agree with it in all but one detail.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

_T = TypeVar("_T")
CHARS_PER_TOKEN = 4
"""Of plain English, roughly; the server counts what it really was."""


class Chance(Protocol):
    """Where a generator's chance comes from."""

    def below(self, count: int) -> int:
        """A whole number from 0 to ``count - 1``."""
        ...

    def sample(self, items: Sequence[_T], count: int) -> list[_T]:
        """``count`` different places of the list."""
        ...


def _listed(words: str) -> tuple[str, ...]:
    return tuple(words.split("|"))


_WHO = _listed(
    "the harbour clerk|a retired pilot|the baker's daughter|the younger ferryman|a visiting surveyor|"
    "the net mender|the night watchman|an old rope maker|the school teacher|a travelling clockmaker|"
    "the lamp keeper|the town gardener|the postmaster|a quiet carpenter|the market warden|the miller's nephew|"
    "an apprentice cooper|the bridge keeper"
)
_DID = _listed(
    "carried a basket of apples across|painted a narrow door beside|counted the gulls above|"
    "swept the steps in front of|waited a whole morning near|left a folded letter at|"
    "repaired a wooden shutter of|drew a careful map of|heard a fiddle being played behind|"
    "lost a leather glove close to|planted three rows of beans below|told a long story about|walked twice around|"
    "borrowed a ladder from the people of|kept a diary about"
)
_WHERE = _listed(
    "the customs house|the lower quay|the grain store|the old chapel|the fish market|the stone bridge|"
    "the boat shed|the weighing hall|the rope walk|the upper gate|the signal tower|the salt cellar|"
    "the reading room|the tannery yard"
)
_WHEN = _listed(
    "before the first bell|after the evening tide|during a slow drizzle|while the fog was lifting|"
    "on a windless afternoon|shortly after the harvest|in the middle of the week|when the lamps were being lit|"
    "late in the cold season|as the carts were coming home|on the day of the small fair|"
    "long before anybody else was awake"
)
_AND = _listed(
    "Nobody thought much of it at the time.|It was written down and soon forgotten.|"
    "The weather changed soon afterwards.|Some people laughed about it for days.|"
    "A dog followed all the way home.|There was soup for everyone that evening.|"
    "The matter was never spoken of again.|Two neighbours disagreed about the details.|"
    "It took longer than expected.|The same thing had happened the year before.|"
    "Only the children seemed to notice.|Then the wind turned to the north."
)
_HEADS = _listed("bel|cor|dan|fen|gal|hor|jun|kel|lom|mar|nor|pel|quin|ras|sol|tam")
_TAILS = _listed("adra|ebin|ilot|omer|usca|andel|erith|ingo|ovar|unet|askin|elmo|irra|otha")


def haystack(
    dice: Chance, tokens: int, kind: str = "word", needles: int = 1, friends: int = 6, part: int = 0
) -> dict[str, Any]:
    """A text of about ``tokens`` tokens, a question about it, and the answer.

    Args:
        dice: chance.
        tokens: length of the text.
        kind: ``word`` asks for the one word of one needle, ``list`` for the words of all, ``sum`` for the sum of
            their numbers.
        needles: how many facts there are to find, each in its own stretch of the text.
        friends: how many false friends there are.
        part: 0: anywhere; 1 or 2: the needle of ``word`` lies in that half.

    Returns ``text``, ``question``, ``answer`` (text, number or list) and ``wrong``, an answer made of false friends.
    """
    facts = _KINDS[kind](dice, needles, friends)
    text = _hidden(dice, tokens * CHARS_PER_TOKEN, facts["needles"], facts["friends"], part)
    return {"text": text, "question": facts["question"], "answer": facts["answer"], "wrong": facts["wrong"]}


def filler(dice: Chance, tokens: int) -> dict[str, Any]:
    """A text of about ``tokens`` tokens in which nothing is hidden, as ``text``."""
    return {"text": _hidden(dice, tokens * CHARS_PER_TOKEN, [], [], 0)}


def _word(dice: Chance, needles: int, friends: int) -> dict[str, Any]:
    town, *towns = _names(dice, friends + 1)
    word, *words = _names(dice, friends + 1)
    locker, *lockers = _numbers(dice, friends + 1)
    # Every second false friend shares the number, the others the town.
    others = [(locker, t) if n % 2 else (m, town) for n, (m, t) in enumerate(zip(lockers, towns, strict=True))]
    return {
        "needles": [_pass_word(locker, town, word)],
        "friends": [_pass_word(number, place, w) for (number, place), w in zip(others, words, strict=True)],
        "question": f"What is the pass word of locker {locker} in {town}?",
        "answer": word,
        "wrong": words[0],
    }


def _pass_word(locker: int, town: str, word: str) -> str:
    return f"The pass word of locker {locker} in {town} is {word.lower()}."


def _list(dice: Chance, needles: int, friends: int) -> dict[str, Any]:
    ship, *ships = _names(dice, friends + 1)
    goods = _names(dice, needles + friends)
    kept, others = goods[:needles], goods[needles:]
    return {
        "needles": [f"In that year the ship {ship} brought home a chest of {item.lower()}." for item in kept],
        "friends": [
            f"In that year the ship {other} brought home a chest of {item.lower()}."
            for other, item in zip(ships, others, strict=True)
        ],
        "question": f"What did the ship {ship} bring home chests of? There are {needles} kinds of goods.",
        "answer": [item.lower() for item in kept],
        "wrong": [item.lower() for item in [*kept[:-1], others[0]]],
    }


def _sum(dice: Chance, needles: int, friends: int) -> dict[str, Any]:
    mill, *mills = _names(dice, friends + 1)
    amounts = dice.sample(range(11, 99), needles + friends)
    return {
        "needles": [f"On that day {amount} sacks of rye went to the mill of {mill}." for amount in amounts[:needles]],
        "friends": [
            f"On that day {amount} sacks of "
            + (f"rye went to the mill of {other}." if n % 2 else f"oats went to the mill of {mill}.")
            for n, (other, amount) in enumerate(zip(mills, amounts[needles:], strict=True))
        ],
        "question": f"How many sacks of rye went to the mill of {mill} in all? They went on {needles} days.",
        "answer": sum(amounts[:needles]),
        "wrong": sum(amounts[: needles - 1]) + amounts[needles],
    }


_KINDS: dict[str, Callable[[Chance, int, int], dict[str, Any]]] = {"word": _word, "list": _list, "sum": _sum}


def _names(dice: Chance, count: int) -> list[str]:
    """Different made-up names; no two begin alike and end alike."""
    pairs = [(head, tail) for head in _HEADS for tail in _TAILS]
    return [(head + tail).capitalize() for head, tail in dice.sample(pairs, count)]


def _numbers(dice: Chance, count: int) -> list[int]:
    return dice.sample(range(101, 990), count)


def _hidden(dice: Chance, length: int, needles: Sequence[str], friends: Sequence[str], part: int) -> str:
    """Sentences up to ``length`` characters: a needle somewhere in each of as many stretches, friends anywhere."""
    left = length - sum(len(fact) + 1 for fact in (*needles, *friends))
    sentences: list[str] = []
    while left > 0:
        sentence = _sentence(dice)
        sentences.append(sentence)
        left -= len(sentence) + 1
    places = [(dice.below(len(sentences) + 1), friend) for friend in friends]
    stretch = (0, 1) if not needles else _stretch(len(sentences), len(needles), part)
    places += [(stretch[0] + n * stretch[1] + dice.below(stretch[1]), fact) for n, fact in enumerate(needles)]
    for place, fact in sorted(places, reverse=True):
        sentences.insert(place, fact)
    paragraphs = [" ".join(sentences[at : at + 8]) for at in range(0, len(sentences), 8)]
    return "\n\n".join(paragraphs)


def _stretch(sentences: int, needles: int, part: int) -> tuple[int, int]:
    """Where the first stretch begins, and the length of each."""
    if part:
        return (part - 1) * sentences // 2, max(1, sentences // 2)
    return 0, max(1, sentences // needles)


_PARTS = (_WHO, _DID, _WHERE, _WHEN, _AND)
_SENTENCES = 2 * math.prod(map(len, _PARTS))


def _sentence(dice: Chance) -> str:
    """One of all the sentences there are, by its number: one draw is much quicker than six."""
    number = dice.below(_SENTENCES)
    words = []
    for part in _PARTS:
        number, place = divmod(number, len(part))
        words.append(part[place])
    who, did, where, when, after = words
    if number:
        return f"{when[0].upper()}{when[1:]}, {who} {did} {where}."
    return f"{who[0].upper()}{who[1:]} {did} {where} {when}. {after}"

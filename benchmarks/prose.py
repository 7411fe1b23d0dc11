"""Made-up answers that compress as real ones do: common words among rare ones, sentences, lists, numbers, code."""

from __future__ import annotations

import random

_WORDS = (
    "the of and to in a is that for it as was with be by on not he this are or his from at which but have an had they"
    " you were their one all we can her has there been if more when will would who so no out up into then only some"
    " time about other could these two may first any my now such like our over new even most after also made many did"
    " must before back through years where much your way well down should because each just those people how too"
    " number value function result list step sum answer find case total given follows equal return true false"
)
_COMMON = _WORDS.split()
_PARTS = (
    "ab ac ad al am an ar as at ba be bi bo ca ce ci co da de di do el em en er es fa fe fi fo ga ge gi ha he hi"
    " ho il im in ir is la le li lo ma me mi mo na ne ni no ol on or os pa pe pi po ra re ri ro sa se si so ta te ti"
    " to ul un ur us va ve vi ing tion ment ness able ist ture ship"
)
_SYLLABLES = _PARTS.split()
_CODE = (
    "def {0}({1}):\n    {2} = [{1} for {1} in {0} if {1} > {3}]\n    return sum({2})\n",
    "for {0} in range({3}):\n    if {0} % {4} == 0:\n        {1}.append({2}[{0}])\n",
)


class Prose:
    """Answers of about 2 kB from a seed, drawn from 20,000 sentences."""

    def __init__(self, seed: int, answer_bytes: int = 2000) -> None:
        self._rng = random.Random(seed)
        self._wanted = answer_bytes
        self._rare = ["".join(self._rng.choices(_SYLLABLES, k=self._rng.randint(2, 4))) for _ in range(12_000)]
        self._pool = [self._sentence() for _ in range(20_000)]

    def answer(self) -> str:
        """Another one."""
        parts: list[str] = []
        length = 0
        while length < self._wanted:
            parts.append(self._pool[int(self._rng.random() * len(self._pool))])
            length += len(parts[-1])
        return "".join(parts)

    def _word(self) -> str:
        if self._rng.random() < 0.5:
            return _COMMON[min(int(self._rng.expovariate(1 / 35)), len(_COMMON) - 1)]
        return self._rare[int(len(self._rare) ** self._rng.random()) - 1]  # by Zipf's law

    def _sentence(self) -> str:
        if self._rng.random() < 0.06:
            names, figures = [self._word() for _ in range(3)], [self._rng.randint(0, 99) for _ in range(2)]
            return "\n```python\n" + self._rng.choice(_CODE).format(*names, *figures) + "```\n"
        words = [self._word() for _ in range(self._rng.randint(6, 22))]
        if self._rng.random() < 0.4:
            words[self._rng.randrange(len(words))] = f"{self._rng.randint(2, 9999)}"
        text = " ".join(words)
        lead = self._rng.choice(("", "", "", "", "\n\n", "\n- ", "\n1. "))
        return f"{lead}{text[0].upper()}{text[1:]}{self._rng.choice('....:?')} "

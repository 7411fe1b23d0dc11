"""The expected answers of reasoning tasks, worked out a second time by counting, trying or a formula."""

from __future__ import annotations

import calendar
import heapq
import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest

from llmbench_mcp.catalog.catalog import Catalog


def jugs() -> int:
    """The fewest pourings among 8, 5 and 3 litres, the first full, that leave 4, 4 and 0."""
    sizes, level, steps = (8, 5, 3), [(8, 0, 0)], 0
    seen = set(level)
    while (4, 4, 0) not in level:
        reached = {poured(state, sizes, a, b) for state in level for a, b in itertools.permutations(range(3), 2)}
        level = sorted(reached - seen)
        seen |= reached
        steps += 1
    return steps


def poured(state: tuple[int, int, int], sizes: Sequence[int], a: int, b: int) -> tuple[int, int, int]:
    amount = min(state[a], sizes[b] - state[b])
    after = list(state)
    after[a] -= amount
    after[b] += amount
    return (after[0], after[1], after[2])


def bridge(minutes: Sequence[int]) -> int:
    """The shortest time for all to cross, two at most at a time, with one torch."""
    everyone = frozenset(minutes)
    ahead: list[tuple[int, list[int], bool]] = [(0, sorted(everyone), True)]
    done = set()
    while True:
        time, waiting, torch = heapq.heappop(ahead)
        left = frozenset(waiting)
        if not left:
            return time
        if (left, torch) in done:
            continue
        done.add((left, torch))
        here = left if torch else everyone - left
        for group in itertools.chain(itertools.combinations(here, 1), itertools.combinations(here, 2)):
            then = left - set(group) if torch else left | set(group)
            heapq.heappush(ahead, (time + max(group), sorted(then), not torch))


def truthful() -> set[int]:
    """How many villagers of four tell the truth, in every case that contradicts nothing."""
    cases = itertools.product((False, True), repeat=4)
    return {
        sum(case)
        for case in cases
        if (case[0], case[1]) == (not case[1], not case[2])
        and (case[2], case[3]) == (sum(case) == 1, case[0] == case[2])
    }


def judo() -> set[str]:
    """Who does judo, in every order of birth and choice of hobbies that fits."""
    found = set()
    for born in itertools.permutations(("Ann", "Ben", "Cas", "Dot")):
        for hobbies in itertools.permutations(("chess", "judo", "piano", "rowing")):
            of = dict(zip(("Ann", "Ben", "Cas", "Dot"), hobbies, strict=True))
            who = {hobby: name for name, hobby in of.items()}
            age = born.index
            in_order = age("Dot") < age("Ben") < age(who["rowing"])
            if of[born[0]] == "chess" and in_order and of["Cas"] == "piano" and 0 < age("Cas") < 3:
                found.add(who["judo"])
    return found


ANSWERS: dict[str, Callable[[], object]] = {
    "ferry_cars": lambda: -(-130 // 18),
    "candle_hours": lambda: (24 - 9) / 3 * 2,
    "birthday_weekday": lambda: ["Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday"][100 % 7],
    "half_price": lambda: 200 * 8 // 10 * 9 // 10,
    "minutes_to_train": lambda: (23 * 60 + 12) - (21 * 60 + 47),
    "socks_drawer": lambda: 3 + 1,
    "perimeter_field": lambda: 2 * (35 + 20) // 5,
    "two_pipes": lambda: 1 + (1 - Fraction(1, 6)) / (Fraction(1, 6) + Fraction(1, 4)),
    "handshakes_couples": lambda: math.comb(10, 2) - 5,
    "three_dice_sum": lambda: Fraction(sum(a + b in (2, 3, 5, 7, 11) for a in range(1, 7) for b in range(1, 7)), 36),
    "coins_change": lambda: sum(5 * a + 10 * b + 20 * c == 30 for a in range(7) for b in range(4) for c in range(2)),
    "ages_of_sisters": lambda: next(
        m for m in range(100) for s in range(3, 100) if m + 4 == 2 * (s + 4) and m - 2 == 4 * (s - 2)
    ),
    "leap_days": lambda: sum(calendar.isleap(y) for y in range(1896, 1925)),
    "mixture_salt": lambda: (3 * 8 + 5 * 4) / (3 + 5 + 2),
    "clock_angle": lambda: abs((8 * 30 + 20 * 0.5) - 20 * 6),
    "grid_paths_blocked": lambda: math.comb(7, 3) - math.comb(3, 1) * math.comb(4, 2),
    "seats_in_a_row": lambda: next(
        p[0]
        for p in itertools.permutations(["Anna", "Ben", "Clara", "Dirk", "Emma"])
        if p[2] == "Clara"
        and p[1] == "Ben"
        and abs(p.index("Anna") - p.index("Dirk")) > 1
        and p.index("Emma") > p.index("Dirk")
        and p.index("Dirk") not in (0, 4)
    ),
    "average_speed": lambda: 2 / (Fraction(1, 10) + Fraction(1, 40)),
    "digits_reversed": lambda: next(
        n for n in range(10, 100) if n - int(str(n)[::-1]) == 27 and sum(map(int, str(n))) == 11
    ),
    "shadow_tower": lambda: 46 * 1.5 / 2,
    "tournament_matches": lambda: 37 - 1,
    "knights_of_table": lambda: math.factorial(5) - 2 * math.factorial(4),
    "trailing_zeros": lambda: len(str(math.factorial(130))) - len(str(math.factorial(130)).rstrip("0")),
    "water_jugs": lambda: jugs(),
    "bridge_torch": lambda: bridge([1, 2, 7, 10]),
    "expected_draws": lambda: Fraction(
        sum(max(p.index(0), p.index(1)) + 1 for p in itertools.permutations(range(5))), 120
    ),
    "remainder_power": lambda: pow(7, 222, 100),
    "monty_four": lambda: Fraction(3, 4) / 2,
    "subset_sum_even": lambda: sum(sum(s) % 4 == 0 for n in range(9) for s in itertools.combinations(range(1, 9), n)),
    "weights_balance": lambda: next(n for n in range(10) if 3**n >= 26),
    "train_meet_fly": lambda: "{:02.0f}:{:02.0f}".format(*divmod(9 * 60 + 45 + (300 - 80 * 0.75) / 180 * 60, 60)),
    "primes_between": lambda: len({a * a - b * b for a in range(60) for b in range(a)} & set(range(1, 51))),
    "probability_meeting": lambda: 1 - Fraction(2, 3) ** 2,
    "seating_parity": lambda: [n for n in range(51, 101) if sum(n % d == 0 for d in range(1, n + 1)) % 2],
    "island_liars": lambda: single(truthful()),
    "birth_order": lambda: single(judo()),
    "odd_coins": lambda: single(
        {box for box in ("red", "blue", "green") if (box == "red") + (box != "blue") + (box != "red") == 1}
    ),
    "taller_friends": lambda: sorted({"Leo": 4, "Ida": 3, "Jon": 2, "Kim": 1}.items(), key=lambda pair: -pair[1])[1][0],
}


def single(found: set[str] | set[int]) -> object:
    """What is the only one left."""
    (one,) = found
    return one


@pytest.mark.parametrize("name", ANSWERS)
def test_an_expected_answer_is_what_counting_gives(name: str) -> None:
    expected = Catalog.load(()).task(f"reasoning/{name}").validation["expected_answer"]
    found = ANSWERS[name]()
    if isinstance(found, str | list):
        assert expected == found
    else:
        assert Fraction(str(expected).rstrip("%")) == Fraction(str(found))

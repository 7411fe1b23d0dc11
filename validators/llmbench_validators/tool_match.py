"""Pairing the calls that were made with those that were wanted, and what is right in each pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llmbench_validators import show
from llmbench_validators.calls_found import Call
from llmbench_validators.tool_schema import Tool
from llmbench_validators.tool_spec import Spec, Wanted
from llmbench_validators.tool_values import allows, equal

MAX_CALLS = 256
"""Calls that are compared; each one over that is one too many."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A made call held against a wanted one of the same function.

    ``right`` arguments of those ``asked`` for and those ``given``; ``faults`` says what is wrong, nothing when empty.
    """

    right: int
    asked: int
    given: int
    faults: tuple[str, ...]

    @property
    def perfect(self) -> bool:
        """Whether the call is just what was wanted."""
        return not self.faults


@dataclass(frozen=True, slots=True)
class Outcome:
    """``pairs`` are (wanted, made, pair); the counts of arguments include those of calls without a partner."""

    pairs: tuple[tuple[int, int, Pair], ...]
    wanted: int
    made: int
    right_arguments: int
    all_arguments: int

    @property
    def perfect(self) -> int:
        """How many wanted calls were made just so."""
        return sum(pair.perfect for _, _, pair in self.pairs)

    @property
    def passed(self) -> bool:
        """Every wanted call was made, and no other."""
        return self.perfect == self.wanted == self.made

    @property
    def credit(self) -> float:
        """Calls and arguments that are right, over all that were wanted or given; 0 to 1."""
        calls = self.wanted + self.made - len(self.pairs)
        return (len(self.pairs) + self.right_arguments) / (calls + self.all_arguments)


def compare(spec: Spec, made: Sequence[Call]) -> Outcome:
    """Pair each wanted call with at most one made call: as many perfect pairs as can be, then the nearest ones.

    With ``order: strict`` the pairs keep the order of both sides.
    """
    considered = made[:MAX_CALLS]
    table = {
        (i, j): pair
        for i, wanted in enumerate(spec.wanted)
        for j, call in enumerate(considered)
        if (pair := _pair(spec, wanted, call)) is not None
    }
    chosen = _in_order(table, len(spec.wanted), len(considered)) if spec.ordered else _any_order(table)
    return _outcome(spec, made, tuple((i, j, table[i, j]) for i, j in sorted(chosen.items())))


def _outcome(spec: Spec, made: Sequence[Call], pairs: tuple[tuple[int, int, Pair], ...]) -> Outcome:
    missing = set(range(len(spec.wanted))) - {i for i, _, _ in pairs}
    extra = set(range(len(made))) - {j for _, j, _ in pairs}
    unpaired = sum(_asked(spec.wanted[i]) for i in missing) + sum(len(made[j].arguments) for j in extra)
    return Outcome(
        pairs=pairs,
        wanted=len(spec.wanted),
        made=len(made),
        right_arguments=sum(pair.right for _, _, pair in pairs),
        all_arguments=unpaired + sum(pair.asked + pair.given - pair.right for _, _, pair in pairs),
    )


def _asked(wanted: Wanted) -> int:
    return sum(not choice.optional for choice in wanted.arguments.values())


# --- one pair


def _pair(spec: Spec, wanted: Wanted, call: Call) -> Pair | None:
    if call.name != wanted.function and not (spec.loose and _undotted(spec, wanted.function, call.name)):
        return None
    tool = spec.tools[wanted.function]
    asked, given, right = 0, 0, 0
    faults: list[str] = []
    for name, choice in wanted.arguments.items():
        if name not in call.arguments:
            if not choice.optional:
                asked += 1
                faults.append(f"{call.name}: {name} is missing")
            continue
        value = call.arguments[name]
        if allows(choice, value, tool.schema(name), loose=spec.loose):
            right, asked, given = right + 1, asked + 1, given + 1
        elif not (choice.optional and _as_if_omitted(tool, name, value, loose=spec.loose)):
            asked, given = asked + 1, given + 1
            faults.append(f"{call.name}: {name} is {show.value(value)}, which is not an allowed value")
    extra = _unasked(spec, tool, wanted, call)
    return Pair(right, asked, given + len(extra), (*faults, *extra))


def _unasked(spec: Spec, tool: Tool, wanted: Wanted, call: Call) -> list[str]:
    return [
        f"{show.cut(call.name)}: {show.cut(name)} "
        + ("was not asked for" if tool.declares(name) else "is no parameter of it")
        for name, value in call.arguments.items()
        if name not in wanted.arguments and not _as_if_omitted(tool, name, value, loose=spec.loose)
    ]


def _as_if_omitted(tool: Tool, name: str, value: object, *, loose: bool) -> bool:
    """Whether giving the argument says no more than leaving it out: null or the schema's default."""
    if not tool.declares(name) or name in tool.required:
        return False
    schema = tool.schema(name)
    return value is None or ("default" in schema and equal(schema["default"], value, schema, loose=loose))


def _undotted(spec: Spec, wanted: str, name: str) -> bool:
    """Whether ``name`` is the wanted one as servers need it that allow no dot in a function's name."""
    return name not in spec.tools and wanted.replace(".", "_") == name


# --- choosing pairs

_Table = dict[tuple[int, int], Pair]


def _any_order(table: _Table) -> dict[int, int]:
    """A maximum matching over the perfect pairs (Kuhn's augmenting paths), then the nearest of what is left."""
    owner: dict[int, int] = {}
    edges: dict[int, list[int]] = {}
    for (i, j), pair in table.items():
        if pair.perfect:
            edges.setdefault(i, []).append(j)
    for i in edges:
        _augment(i, edges, owner, set())
    chosen = {i: j for j, i in owner.items()}
    for i, j in sorted(table, key=lambda key: (-table[key].right, len(table[key].faults), key)):
        if i not in chosen and j not in owner:
            chosen[i], owner[j] = j, i
    return chosen


def _augment(start: int, edges: dict[int, list[int]], owner: dict[int, int], seen: set[int]) -> bool:
    """Find ``start`` a partner, moving others to another of theirs; recursion is as deep as there are wanted calls."""
    for j in edges[start]:
        if j in seen:
            continue
        seen.add(j)
        if j not in owner or _augment(owner[j], edges, owner, seen):
            owner[j] = start
            return True
    return False


def _in_order(table: _Table, wanted: int, made: int) -> dict[int, int]:
    """The alignment that keeps both orders and has most perfect pairs, then most that is right."""
    best = [[(0, 0)] * (made + 1) for _ in range(wanted + 1)]
    for i in range(wanted - 1, -1, -1):
        for j in range(made - 1, -1, -1):
            options = [best[i + 1][j], best[i][j + 1]]
            if (i, j) in table:
                options.append(_plus(best[i + 1][j + 1], table[i, j]))
            best[i][j] = max(options)
    return _walk(best, table, wanted, made)


def _plus(weight: tuple[int, int], pair: Pair) -> tuple[int, int]:
    return weight[0] + pair.perfect, weight[1] + 1 + pair.right


def _walk(best: list[list[tuple[int, int]]], table: _Table, wanted: int, made: int) -> dict[int, int]:
    chosen: dict[int, int] = {}
    i = j = 0
    while i < wanted and j < made:
        if (i, j) in table and best[i][j] == _plus(best[i + 1][j + 1], table[i, j]):
            chosen[i] = j
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return chosen

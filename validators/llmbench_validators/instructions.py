"""The ``instructions`` validator: the verifiable instructions of IFEval (Zhou et al. 2023, arXiv:2311.07911).

Keys: ``instructions``, a list of ``{id: "keywords:existence", keywords: […]}``: an id of the paper and that kind's
own arguments beside it; ``mode``, ``strict`` (the default: the answer as it is) or ``loose`` (an instruction is
followed when one of eight variants of the answer follows it: without its first line, its last line or both, each
also without asterisks). The same id may come more than once. An id, argument or relation that is not known is an
error of the task, never a pass.

``passed``: every instruction is followed. The score is the share that is, and both modes stand in ``subscores``.
How each kind decides, and where that differs from the published program, is said in ``instructions_words``,
``instructions_layout``, ``instructions_language`` and ``instructions_kinds``. Confidence is high, and medium where
a language or sentences had to be recognised.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llmbench_validators import final_text, show, spec_fields
from llmbench_validators.instructions_kinds import KINDS, Check
from llmbench_validators.types import Completion, Stage, ValidationSpecError, Verdict

VERSION = "1"

_MODES = ("strict", "loose")
_UNSURE = ("language:", "change_case:english", "length_constraints:number_sentences")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction of a task, ready to be checked."""

    id: str
    check: Check


@dataclass(frozen=True, slots=True)
class _Outcome:
    strict: bool
    loose: bool
    note: str


def validate(spec: Mapping[str, Any], completion: Completion) -> Verdict:
    """Check an answer against a task's instructions. Raises ValidationSpecError for a wrong block."""
    instructions, mode = read_spec(spec)
    found = final_text.read(completion)
    if found.failure is not None:
        outcomes = [_Outcome(strict=False, loose=False, note="") for _ in instructions]
        return _verdict(instructions, outcomes, mode, found)
    outcomes = [_outcome(instruction, found.text) for instruction in instructions]
    if not any(outcome.strict or outcome.loose for outcome in outcomes):
        failure, note = final_text.why_short(completion, found.text, "missed_criteria")
        found = final_text.FinalText(found.text, failure, note)
    return _verdict(instructions, outcomes, mode, found)


def read_spec(spec: Mapping[str, Any]) -> tuple[list[Instruction], str]:
    """The instructions and the mode of a block. Raises ValidationSpecError naming what is wrong."""
    spec_fields.refuse_unknown(spec, ("type", "instructions", "mode"), "instructions")
    mode = spec_fields.choice(spec, "mode", "instructions", _MODES, default="strict")
    items = spec_fields.mappings(spec, "instructions", "instructions")
    return [_instruction(item, number) for number, item in enumerate(items, 1)], mode


def variants(text: str) -> list[str]:
    """The eight texts of which one must follow an instruction in loose mode."""
    lines = text.split("\n")
    parts = [text, *("\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1]))]
    return parts + [part.replace("*", "") for part in parts]


def _instruction(item: Mapping[str, Any], number: int) -> Instruction:
    where = f"instructions {number}"
    name = spec_fields.text(item, "id", where)
    kind = KINDS.get(name)
    if kind is None:
        raise ValidationSpecError(f"{where}: id {show.value(name)} is no instruction; valid are {', '.join(KINDS)}")
    given = {key: value for key, value in item.items() if key != "id" and value is not None}
    spec_fields.refuse_unknown(given, kind.arguments, f"{where} ({name})")
    return Instruction(name, kind.read(given, f"{where} ({name})"))


def _outcome(instruction: Instruction, text: str) -> _Outcome:
    problem = instruction.check(text)
    loose = problem is None or any(_follows(instruction, variant) for variant in variants(text)[1:])
    return _Outcome(strict=problem is None, loose=loose, note=problem or "")


def _follows(instruction: Instruction, text: str) -> bool:
    return bool(text.strip()) and instruction.check(text) is None


def _verdict(
    instructions: Sequence[Instruction], outcomes: Sequence[_Outcome], mode: str, found: final_text.FinalText
) -> Verdict:
    shares = {"strict": _share(o.strict for o in outcomes), "loose": _share(o.loose for o in outcomes)}
    followed = [getattr(outcome, mode) for outcome in outcomes]
    passed = all(followed)
    notes = [f"{i.id}: {o.note}" for i, o, hit in zip(instructions, outcomes, followed, strict=True) if not hit]
    return Verdict(
        passed=passed,
        score=shares[mode],
        confidence="medium" if any(i.id.startswith(_UNSURE) for i in instructions) else "high",
        validator="instructions",
        version=VERSION,
        failure=None if passed else found.failure or "missed_criteria",
        findings=tuple(filter(None, [found.finding, *(notes if found.text else [])])),
        stages={"instructions": Stage(sum(followed), len(followed))},
        subscores=shares,
        graded_text=found.text,
        extractor=mode if found.text else None,
    )


def _share(hits: Iterable[bool]) -> float:
    known = list(hits)
    return round(sum(known) / len(known), 6)

"""What a model's name tells: family, parameters, quantisation, variants. Only what is written is taken.

Names are written in many ways, so all of this is a guess: ``completed`` says which fields came from here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from llmbench_mcp.domain.endpoint import OfferedModel

_MOST_CHARS = 512
_UNITS = {"k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}
_START, _END = r"(?<![a-z0-9.])(?<!\d_)", r"(?![a-z0-9])"
_NUMBER = r"(\d{1,5}(?:\.\d{1,3})?)"
_SIZE = re.compile(rf"{_START}{_NUMBER}([bmt]){_END}")
_ACTIVE = re.compile(rf"{_START}a{_NUMBER}([bm]){_END}")
_EXPERTS = re.compile(rf"{_START}{_NUMBER}(b)-\d{{1,3}}e{_END}")
"""``17b-128e``: the figure before the number of experts is what each token uses."""
_MIXTURE = re.compile(rf"{_START}(\d{{1,3}})x{_NUMBER}b{_END}")
_MIXTRAL = {("8", "7"): 46_700_000_000, ("8", "22"): 141_000_000_000}
"""The experts of a mixture share layers, so that their number times their size is too much."""
_LEAST_MILLIONS = 10
"""``1m`` and the like are lengths of context."""

_TAG = r"(?<![a-z0-9])"
_GGUF = re.compile(rf"{_TAG}((?:i?q\d|tq\d)(?:_[0-9]+|_[kxsml]+)*|mxfp4|nvfp4){_END}")
_BITS = re.compile(rf"{_TAG}([2-8])-?bits?{_END}")
_METHOD = re.compile(rf"{_TAG}(awq|gptq|exl[23]){_END}")
_SCHEME = re.compile(rf"{_TAG}(w\d{{1,2}}a\d{{1,2}}|fp8|int[48]){_END}")
_PLAIN = re.compile(rf"{_TAG}(bf16|fp?16|fp?32){_END}")

_LINEAGES = """
    aya baichuan bge bloom cogito codegemma codellama codestral command deepseek devstral ernie exaone falcon gemma glm
    granite hunyuan internlm jamba kimi lfm llama llava magistral mamba mathstral minicpm minimax minilm ministral
    mistral mixtral moondream mpt mxbai nemotron nomic olmo olmoe orca phi pixtral qwen qwq smollm snowflake solar
    stablelm starcoder tinyllama vicuna wizardlm yi
"""
_KINDS = """
    instruct it chat base coder code vl vision thinking reasoning math qat mlx gguf distill embed embedding rerank
    reranker abliterated uncensored preview audio omni
"""
_FAMILIES, _VARIANTS = frozenset(_LINEAGES.split()), frozenset(_KINDS.split())


@dataclass(frozen=True, slots=True)
class NameFacts:
    """What a name says. ``parameter_count`` is of all weights, ``active_parameters`` of those a token uses."""

    family: str | None = None
    parameter_count: int | None = None
    active_parameters: int | None = None
    quantisation: str | None = None
    variants: tuple[str, ...] = ()


def facts_in(name: str) -> NameFacts:
    """The facts in a served name, a file name or a path; None where it says nothing or may mean two things."""
    text = _relevant(name)
    return NameFacts(
        family=_family(text),
        parameter_count=_parameters(text),
        active_parameters=_active(text),
        quantisation=quantisation_in(text),
        variants=tuple(dict.fromkeys(word for word in _words(text) if word in _VARIANTS)),
    )


def completed(model: OfferedModel, *names: str) -> OfferedModel:
    """``model`` with family, parameters and quantisation from its name where unknown, each listed in ``guessed``.

    ``names``: read these instead, in this order, e.g. a file's name before the served one.
    """
    for name in names or (model.served_name,):
        facts = facts_in(name)
        found = {
            field: getattr(facts, field)
            for field in ("family", "parameter_count", "quantisation")
            if getattr(model, field) is None and getattr(facts, field) is not None
        }
        model = replace(model, **found, guessed=(*model.guessed, *found))
    return model


def parse_count(text: Any) -> int | None:
    """A server's figure such as ``8.0B``, ``567.75M`` or ``1.1T`` as a number; None for anything else."""
    if not isinstance(text, str):
        return None
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,6})?)\s?([kmbt])", text.strip().lower())
    return _times(*match.groups()) if match else None


def quantisation_in(name: str) -> str | None:
    """``Q4_K_M``, ``IQ3_XXS``, ``MXFP4``, ``6bit``, ``AWQ``, ``F16``, ...; None where none or two are named."""
    text = name[:_MOST_CHARS].lower()
    for pattern, spell in _SPELLINGS:
        found = dict.fromkeys(spell(match[1]) for match in pattern.finditer(text))
        if found:
            return next(iter(found)) if len(found) == 1 else None
    return None


def _relevant(name: str) -> str:
    """The name without folders, extension and publisher, in lower case."""
    text = re.split(r"[/\\]", name[:_MOST_CHARS].strip())[-1].lower()
    return re.sub(r"\.gguf$|-\d{5}-of-\d{5}(\.gguf)?$", "", text)


def _words(text: str) -> list[str]:
    return re.split(r"[-:@_\s.]+", text)


def _family(text: str) -> str | None:
    """The lineage without its version; None when two are named, as in a distillation."""
    if "gpt-oss" in text:
        return "gpt-oss"
    stems = (re.match(r"[a-z]+", word) for word in _words(text))
    found = {stem[0] for stem in stems if stem} & _FAMILIES
    return found.pop() if len(found) == 1 else None


def _parameters(text: str) -> int | None:
    mixture = _MIXTURE.search(text)
    if mixture:
        return _MIXTRAL.get((mixture[1], mixture[2])) if "mixtral" in text else None
    if _EXPERTS.search(text):
        return None
    sizes = {_times(*match.groups()) for match in _SIZE.finditer(text) if _is_size(*match.groups())}
    return sizes.pop() if len(sizes) == 1 else None


def _active(text: str) -> int | None:
    match = _ACTIVE.search(text) or _EXPERTS.search(text)
    return _times(*match.groups()) if match else None


def _is_size(number: str, unit: str) -> bool:
    return unit != "m" or float(number) >= _LEAST_MILLIONS


def _times(number: str, unit: str) -> int | None:
    return round(float(number) * _UNITS[unit]) or None


def _spell_plain(word: str) -> str:
    return word.upper() if word == "bf16" else f"F{word[-2:]}"


_SPELLINGS: tuple[tuple[re.Pattern[str], Callable[[str], str]], ...] = (
    (_GGUF, str.upper),
    (_BITS, "{}bit".format),
    (_METHOD, str.upper),
    (_SCHEME, str.upper),
    (_PLAIN, _spell_plain),
)

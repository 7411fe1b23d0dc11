"""One question to a model and what came back: request, completion, token usage, timings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Reasoning = Literal["off", "on", "low", "medium", "high"]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a model is asked; None means the server's default and is not sent.

    ``context_length``: tokens of context to load the model with, where the server lets us choose.
    ``reasoning``: whether, or how much, a reasoning model thinks first.
    """

    temperature: float | None = 0.0
    top_p: float | None = None
    seed: int | None = 0
    max_tokens: int | None = None
    context_length: int | None = None
    reasoning: Reasoning | None = None

    def __post_init__(self) -> None:
        """0, 0.0 and -0.0 are one temperature: results that were asked alike must meet."""
        for name in ("temperature", "top_p"):
            value = getattr(self, name)
            if isinstance(value, int | float) and not isinstance(value, bool):
                object.__setattr__(self, name, float(value) + 0.0)

    def as_dict(self) -> dict[str, float | int | str | None]:
        """For manifests and hashes: the first four always, the others where set, so that old hashes stay."""
        always = {name: getattr(self, name) for name in ("temperature", "top_p", "seed", "max_tokens")}
        rarely = {name: getattr(self, name) for name in ("context_length", "reasoning")}
        return always | {name: value for name, value in rarely.items() if value is not None}

    def told(self) -> str:
        """What differs from the defaults, in words; empty where nothing does."""
        usual = Sampling()
        names = ("temperature", "top_p", "seed", "max_tokens", "context_length", "reasoning")
        odd = [(name, getattr(self, name)) for name in names if getattr(self, name) != getattr(usual, name)]
        return ", ".join(f"{name} {'default' if value is None else value}" for name, value in odd)


@dataclass(frozen=True, slots=True)
class Budget:
    """Tokens an answer may have where the request does not say: ``default`` where the task is silent, too;
    ``least`` whatever the task says, for models that think before they answer."""

    default: int = 2048
    least: int = 0

    def tokens(self, asked: int | None, task: int | None) -> int:
        """The budget of one answer."""
        return asked or max(self.least, task or self.default)

    def as_dict(self) -> dict[str, int]:
        """For manifests."""
        return {"default": self.default, "least": self.least}


Watch = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A rendered prompt for one model. ``tools`` are OpenAI function schemas.

    ``watch`` is given every piece of reasoning and answer as it comes; a word from it ends the stream, and is
    the completion's ``finish_reason``. ``turns`` are what was said since the prompt: of a task in turns, the model's
    answers so far with the results its calls were given.
    """

    model: str
    prompt: str
    system: str | None = None
    sampling: Sampling = Sampling()
    tools: tuple[Mapping[str, Any], ...] = ()
    watch: Watch | None = field(default=None, compare=False)
    turns: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts. ``estimated`` is True when they were not the server's; None means unknown."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds from the moment the request's last byte was handed to the socket; None means not observed.

    ``ttft_s``: first non-empty reasoning or content delta. ``ttfat_s``: first non-empty answer delta
    (content or tool call). ``e2e_s``: last byte of the stream. ``itl_s``: gaps between successive
    non-empty deltas. ``decode_tps``: (output tokens - 1) / (last delta - first delta).
    ``prefill_tps`` and ``server`` come from the server's own figures and are never mixed with ours.

    A call inside which the server says that it loaded the model is cold: ``ttft_s`` and ``ttfat_s`` are None,
    ``server`` holds ``load_s``, and what was observed as ``cold_ttft_s`` and ``cold_ttfat_s``.
    """

    ttft_s: float | None = None
    ttfat_s: float | None = None
    e2e_s: float | None = None
    itl_s: tuple[float, ...] = ()
    decode_tps: float | None = None
    prefill_tps: float | None = None
    server: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A native tool call; ``arguments`` is the parsed object, or the raw text when it is not JSON."""

    name: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class Completion:
    """What the model answered. ``complete`` is False when the stream ended with neither finish nor [DONE].

    Of a task in turns it is the last answer, with usage and timing of all of them; ``turns`` holds every answer with
    its own, the last one included.
    """

    text: str
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    usage: Usage | None = None
    timing: Timing = Timing()
    model: str | None = None
    complete: bool = True
    error: str | None = None
    bad_events: int = 0
    turns: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call is answered with. ``native``: the server returned the call, and it did not stand in the text."""

    name: str
    content: str
    native: bool = True


@dataclass(frozen=True, slots=True)
class Turn:
    """An answer and the results given to its calls, in their order; none where the conversation ended."""

    answer: Completion
    results: tuple[ToolResult, ...] = ()

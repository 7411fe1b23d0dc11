"""One call of the program: its arguments, with the options that may stand anywhere taken out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from llmbench_mcp.config import Settings, load_settings


@dataclass(frozen=True, slots=True)
class Invocation:
    """``argv`` is what is left for the commands; ``data_dir`` None means the environment or the default."""

    argv: tuple[str, ...]
    as_json: bool = False
    data_dir: Path | None = None

    def settings(self) -> Settings:
        """The settings of this call. Raises InputError for a bad ``LLMBENCH_*`` variable."""
        return load_settings(data_dir=self.data_dir)


_VALUED = """
    --allow-host --allow-origin
    --attempt --backend --can --cannot --capability --concurrency --context --credential --credential-env
    --ctx --device --endpoint --evict --expires --failure --family --host --jobs --key
    --limit --limit-attempts --limit-seconds --limit-tokens --max-gib
    --max-tokens --minutes --model --model-name --name --offset --origin --output --param --parameters --port --priority
    --prompt --quantisation --rank-by --repeats --seed --select --status --suite --system --tasks --temperature
    --as --dir --draws --licence --map --sample --split --state --title --format --out --type --draw-seed
    --text --timeout --token-env --token-file --toolsets --top-p --unset --zone
"""
TAKE_A_VALUE = frozenset(_VALUED.split())
"""The options whose next word is theirs whatever it looks like; not ``--wait``, which takes one in some commands."""


def parse_invocation(argv: list[str]) -> Invocation:
    """Take ``--json`` and ``--data-dir P`` from wherever they stand before a ``--``, but not as an option's value.

    A ``--data-dir`` without a value stays, for the command parser to complain of.
    """
    end = argv.index("--") if "--" in argv else len(argv)
    words, left = argv[:end], []
    data_dir: str | None = None
    as_json = False
    while words:
        word = words.pop(0)
        if word == "--data-dir" and words:
            data_dir = words.pop(0)
        elif word.startswith("--data-dir="):
            data_dir = word.partition("=")[2]
        elif word == "--json":
            as_json = True
        else:
            taken = 1 if word in TAKE_A_VALUE else 0
            left += [word, *words[:taken]]
            del words[:taken]
    folder = Path(data_dir).expanduser() if data_dir else None
    return Invocation((*left, *argv[end:]), as_json, folder)

"""Code for a candidate process that is made of our own modules, which it cannot read from their files."""

from __future__ import annotations

import functools
from importlib import resources

LOAD_S = 10.0
"""Seconds it may take such code to load, of which an answer has no part."""

_MAKE = """import sys, types
def _made(name, text):
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(text, name, "exec"), module.__dict__)
    return module
"""


@functools.cache
def assembled(*modules: str) -> str:
    """Code that makes the modules of this package in memory, in this order, and names the last one's ``run``."""
    folder = resources.files("llmbench_validators")
    texts = {name: folder.joinpath(f"{name}.py").read_text(encoding="utf-8") for name in modules}
    made = [f"made = _made({f'llmbench_validators.{name}'!r}, {text!r})\n" for name, text in texts.items()]
    return f"{_MAKE}{''.join(made)}run = made.run\n"

"""Case collections that lie outside the repository: used where present, skipped with a notice elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

COLLECTED = Path(os.environ.get("LLMBENCH_COLLECTED") or Path(__file__).parents[3] / "shared")
"""The folder with ``cases/`` and ``data/``: named by LLMBENCH_COLLECTED, else beside the repository."""

NOTICE = "the collected cases are not on this machine (LLMBENCH_COLLECTED names their folder)"

"""What a core install (no extras) costs: packages and megabytes, in a fresh virtual environment.

    python benchmarks/footprint.py [--packages 55] [--megabytes 70]

Exit code 1 when a limit is passed. Needs the package index.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> int:
    """Install and measure."""
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        _pip(python, "install", "--quiet", str(ROOT))
        listed = json.loads(_pip(python, "list", "--format", "json"))
        names = [item["name"] for item in listed if item["name"] not in ("pip", "setuptools")]
        _pip(python, "uninstall", "--quiet", "--yes", "pip", "setuptools")
        size = sum(file.lstat().st_size for file in Path(folder).rglob("*") if file.is_file()) / 1e6
    print(f"packages   {len(names)} (limit {options.packages})")
    print(f"megabytes  {size:.0f} (limit {options.megabytes})")
    return int(len(names) > options.packages or size > options.megabytes)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packages", type=int, default=55)
    parser.add_argument("--megabytes", type=float, default=70)
    return parser.parse_args()


def _pip(python: Path, *arguments: str) -> str:
    return subprocess.run([python, "-m", "pip", *arguments], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())

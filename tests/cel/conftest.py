from __future__ import annotations

import sys
from pathlib import Path

# The oracle's side of the comparison is a module beside the tests, which a script runs too.
sys.path.insert(0, str(Path(__file__).parent))

"""What taxes are."""

import json
from pathlib import Path

RATES = Path(__file__).parents[1] / "data" / "rates.json"


def rate(country: str) -> int:
    """Return the tax of a country in percent."""
    return json.loads(RATES.read_text(encoding="utf-8"))[country]

"""The tests, by what they test; `tests.support` has what they share, `tests.bench` measures."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
"""The checkout."""

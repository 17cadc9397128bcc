"""The folder of spilled data of a DuckDB database."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Final

REMOVALS: Final = 20
PAUSE: Final = 0.05
"""How often the removal of spilled data is tried, and the seconds between two attempts."""


def removed(folder: str) -> None:
    """Remove a folder of spilled data; again, where a statement that was interrupted still writes there, or the removal
    itself is interrupted."""
    try:
        for _ in range(REMOVALS):
            shutil.rmtree(folder, ignore_errors=True)
            if not Path(folder).exists():
                return
            time.sleep(PAUSE)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise

"""What the methods of a store refuse, before they do anything: UsageError, with what to give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from triplestore import Store
from triplestore.model.errors import UsageError

WRONG = "<urn:a> <urn:p> <urn:b> .\nthis is no triple\n"


@pytest.mark.parametrize("on_error", ["Stop", "STOP", "ignore", "", None, ["stop"]])
def test_on_error_is_stop_or_skip(tmp_path: Path, on_error: Any) -> None:
    (tmp_path / "wrong.nt").write_text(WRONG)
    with Store.create(tmp_path / "kg", ["none"]) as store:
        for load in (
            lambda: store.load(tmp_path / "wrong.nt", on_error=on_error),
            lambda: store.load_dataframe(None, on_error=on_error),  # type: ignore[arg-type]
        ):
            with pytest.raises(UsageError, match="on_error is one of 'stop', 'skip', not"):
                load()
        assert store.version == 1

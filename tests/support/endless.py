"""A statement that does not end."""

from __future__ import annotations

from typing import Any


def endless(engine: Any) -> str:
    """A statement that would run for hours; on Spark minutes, in steps short enough for a task to be stopped."""
    ten = "SELECT CAST(s.n AS BIGINT) AS n FROM (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10)) s(n)"
    engine.create("many", ten)
    for _ in range(2):
        engine.create("many", "SELECT a.n * 1000 + b.n AS n FROM many a, many b")
    if engine.name == "spark":
        engine.create("more", f"SELECT a.n * 100 + b.n * 10 + c.n AS n FROM many a, ({ten}) b, ({ten}) c")
        return "SELECT count(*) AS n FROM more a, many b WHERE (a.n + b.n) * b.n % 1013 = 5"
    return "SELECT count(*) AS n FROM many a, many b, many c WHERE (a.n + b.n) * c.n % 1013 = 5"

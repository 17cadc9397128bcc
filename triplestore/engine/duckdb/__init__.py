"""DuckDB in this process."""

from triplestore.engine.duckdb.engine import DuckDBEngine

__all__ = ["DuckDBEngine"]

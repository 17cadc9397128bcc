"""Measuring Triplake next to its peers: `python -m tests.bench --help`."""

"""What a server writes on standard error: a line of JSON for each request, and its own messages."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any, Final


class Lines(logging.Formatter):
    """Messages as lines of JSON: time, level, message, and the traceback of a fault. Those of requests are JSON."""

    def format(self, record: logging.LogRecord) -> str:
        if record.name == _REQUESTS:
            return record.getMessage()
        traceback = {"traceback": self.formatException(record.exc_info)} if record.exc_info else {}
        return line_of(record.levelname.lower(), record.getMessage(), record.created, **traceback)


def line_of(level: str, message: str, when: float | None = None, **more: str) -> str:
    """A line of the log as JSON. when: seconds since 1970; None: now."""
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(when)) + "Z"
    return json.dumps({"time": moment, "level": level, "message": message, **more}, ensure_ascii=False)


def log_to_stderr(access: bool, verbose: bool, json_lines: bool = False) -> None:
    """The server's own log, and one JSON line for each request, on standard error. json_lines: all as JSON."""
    for name, level in (("triplake", logging.WARNING), ("uvicorn", logging.CRITICAL)):  # an answer we cut is no error
        logger = logging.getLogger(name)
        handler: Any = logging.StreamHandler(sys.stderr)
        handler.setFormatter(Lines() if json_lines else logging.Formatter("%(message)s"))
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if verbose else level)
    logging.getLogger(_REQUESTS).setLevel(logging.INFO if access else logging.CRITICAL)


_REQUESTS: Final = "triplake.access"

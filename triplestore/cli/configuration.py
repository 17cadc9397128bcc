"""A command's options from a file of TOML: `port = 8080` is `--port 8080`, a list is an option given several times."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from triplestore.model.errors import UsageError

_PATHS: Final = frozenset(("accounts", "backup", "tls_certificate", "tls_key", "load_folder", "shapes"))
"""Options whose value is a path: in a file, it is one beside that file."""

_NAMED_PATHS: Final = frozenset(("stream", "stream_from"))
"""The same, with a name before it: NAME=PATH."""


def configured(context: click.Context, parameter: click.Parameter, file: str | None) -> str | None:
    """The callback of --config, which is eager: what the file says stands where neither the command line nor the
    environment says otherwise. Raises UsageError."""
    if file is not None:
        context.default_map = {**(context.default_map or {}), **_read(context, Path(file))}
    return file


def _read(context: click.Context, file: Path) -> dict[str, Any]:
    import difflib  # when there is a file: each command begins without them
    import tomllib

    try:
        read = tomllib.loads(file.read_text("utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} is not TOML: {error}") from error
    long = {
        name.lstrip("-").replace("-", "_"): option
        for option in context.command.params
        if isinstance(option, click.Option) and option.name not in ("config", "help")
        for name in option.opts
        if name.startswith("--")
    }
    found: dict[str, Any] = {}
    for key, value in read.items():
        name = key.replace("-", "_")
        if name == "stores":
            found["stores"] = _stores(file, value)
        elif name not in long:
            near = difflib.get_close_matches(name, [*long, "stores"], 1)
            hint = f"; did you mean {near[0].replace('_', '-')}?" if near else ""
            raise UsageError(f"{file}: there is no option {key}{hint}")
        else:
            found[str(long[name].name)] = _value(file, key, long[name], value)
    return found


def _stores(file: Path, value: Any) -> list[str]:
    """The table of stores, as arguments NAME=STORE."""
    if not isinstance(value, dict) or not all(isinstance(path, str) for path in value.values()):
        raise UsageError(f"{file}: stores is a table of names and folders: [stores], then NAME = 'FOLDER'")
    return [f"{name}={_beside(file, path)}" for name, path in value.items()]


def _value(file: Path, key: str, option: click.Option, value: Any) -> Any:
    values = value if isinstance(value, list) else [value]
    simple = all(isinstance(one, str | int | float | bool) for one in values)
    flags = all(isinstance(one, bool) for one in values)
    if not simple or (isinstance(value, list) and not option.multiple) or flags != option.is_flag:
        kind = "true or false" if option.is_flag else "a list of values" if option.multiple else "one value"
        raise UsageError(f"{file}: {key} is {kind}")
    name = key.replace("-", "_")
    if name in _PATHS:
        values = [_beside(file, str(one)) for one in values]
    elif name in _NAMED_PATHS:
        parts = [str(one).rpartition("=") for one in values]
        values = [f"{left}{mark}{_beside(file, right)}" for left, mark, right in parts]
    return [str(one) for one in values] if option.multiple else values[0]


def _beside(file: Path, path: str) -> str:
    return path if "://" in path else str(file.parent / path)

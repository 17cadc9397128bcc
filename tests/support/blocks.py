"""Running the blocks of a page of the documentation, as whoever reads it would: in order, in one folder."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

import httpx
from rdflib import Graph

from tests import ROOT
from tests.support.cli import run
from tests.support.notebooks import Shell
from triplake import load_ipython_extension
from triplake.rulesets import datalog
from triplestore import Store

FENCE: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED: Final = re.compile(r"`([\w.-]+\.(?:ttl|dlog|rq|csv|tpl|toml))`")
"""What stands before a block that is a file of this name."""

ENDLESS: Final = re.compile(r"triplake serve |tail -F |curl -N ")
"""Commands that run until they are stopped."""


@dataclass(frozen=True)
class Block:
    """A block of a page: its language, its text, its line, and the file that the paragraph before names, if one."""

    language: str
    body: str
    line: int
    file: str | None

    @property
    def first(self) -> str:
        return self.body.split("\n", 1)[0]


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page."""
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        before = text[: found.start()]
        named = NAMED.findall(before.rstrip().rsplit("\n\n", 1)[-1])
        yield Block(found[1], found[2], before.count("\n") + 1, named[-1] if named else None)


def commands(body: str) -> Iterator[str]:
    """The commands of a block of shell: with what they read (`<<'END'`), and lines that go on, together."""
    lines = iter(body.splitlines())
    for line in lines:
        while line.endswith("\\"):
            line += "\n" + next(lines)
        if end := re.search(r"<<'(\w+)'", line):
            for more in lines:
                line += "\n" + more
                if more == end[1]:
                    break
        if line.strip() and not line.startswith("#"):
            yield line


@dataclass
class Reader:
    """Who reads a page in `folder`, where other things than on the page are called as `instead` says: text by text.

    elsewhere: what commands cannot be run here match. hooks: what happens before a block, by its first line. names:
    what Python has. steps: the commands that were given on a console."""

    folder: Path
    port: int
    elsewhere: Mapping[str, str]
    hooks: Mapping[str, Callable[[], None]] = field(default_factory=dict)
    names: dict[str, Any] = field(default_factory=dict)
    instead: Mapping[str, str] = field(default_factory=dict)
    _file: str | None = None
    _printed: str = ""
    steps: int = 0
    _running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def read(self, block: Block) -> None:
        """Do what a block says."""
        if hook := self.hooks.get(block.first):
            hook()
        runner = getattr(self, f"_{block.language}", None)
        assert runner is not None, f"line {block.line}: no language: write ```text for what is only shown"
        body = block.body
        for old, new in self.instead.items():
            body = body.replace(old, new)
        if block.file and block.language not in ("sh", "console", "python", "ipython"):
            (self.folder / block.file).write_text(body, encoding="utf-8")
        self._file = block.file
        runner(body)

    # -- what there is ----------------------------------------------------------------------------------------------

    def _text(self, body: str) -> None:
        """Shown, and not run."""

    def _sh(self, body: str) -> None:
        for line in commands(body):
            if any(re.search(pattern, line) for pattern in self.elsewhere):
                continue
            if ENDLESS.search(line):
                self._start(line)
                continue
            wanted = int(found[1]) if (found := re.search(r"  # (\d):", line)) else 0
            code, self._printed = self._outcome(line)
            assert code == wanted, f"{line}\n{self._printed}"

    def _console(self, body: str) -> None:
        for line, printed in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", body, re.MULTILINE):
            command, *words = shlex.split(line, comments=True)
            if command == "cd":
                os.chdir(words[0])
                continue
            outcome = run(*words)
            self.steps += 1
            assert outcome.code in (0, 1), outcome
            if printed:
                assert re.fullmatch(pattern(printed), trimmed(outcome.out + outcome.err)), (line, outcome.out)

    def _python(self, body: str) -> None:
        exec(compile(body, "a page", "exec"), self.names)

    def _ipython(self, body: str) -> None:
        shell = Shell()
        shell.user_ns = self.names
        load_ipython_extension(shell)
        first, _, cell = body.partition("\n")
        shell.magic["sparql"](first.removeprefix("%%sparql "), cell)

    def _sparql(self, body: str) -> None:
        if " ON <" in body or "FROM STREAM" in body:
            with Store.open("building") as store, store.stream("sensors.txt", body) as answers:
                list(answers)
            return
        with Store.open("kg") as store:
            (store.sparql_update if "INSERT" in body or "DELETE" in body else store.query)(body)

    def _turtle(self, body: str) -> None:
        Graph().parse(data=body, format="turtle")

    def _dlog(self, body: str) -> None:
        datalog.parse(body, "a page")

    def _csv(self, body: str) -> None:
        """What a command gives; a file else."""
        assert self._file or trimmed(self._printed) == trimmed(body)

    def _template(self, body: str) -> None:
        """A file."""

    def _json(self, body: str) -> None:
        json.loads(body)

    def _toml(self, body: str) -> None:
        tomllib.loads(body)

    # -- processes --------------------------------------------------------------------------------------------------

    @property
    def _environment(self) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "TRIPLAKE_PORT": str(self.port)}

    def _outcome(self, line: str) -> tuple[int, str]:
        words = shlex.split(line, comments=True)
        if words[0] == "triplake" and not {"|", "||", "&&", ">", ";"} & set(words) and "<<" not in line:
            outcome = run(*words[1:], stdin=b"secret words\nsecret words\n")
            return outcome.code, outcome.out + outcome.err
        found = subprocess.run(
            ["bash", "-c", line], capture_output=True, text=True, env=self._environment, timeout=300, check=False
        )
        return found.returncode, found.stdout + found.stderr

    def _start(self, line: str) -> None:
        """Run a command beside what follows, a server until the next one, to the end of the page at most."""
        if "triplake serve" in line:
            self._stop()
        started = subprocess.Popen(
            ["bash", "-c", line], env=self._environment, stderr=subprocess.PIPE, start_new_session=True
        )
        self._running.append(started)
        ends = time.monotonic() + 120
        scheme = "https" if "--tls" in line else "http"
        while "triplake serve" in line:
            assert started.poll() is None, f"{line}\n{started.stderr.read().decode()}"  # type: ignore[union-attr]
            try:
                httpx.get(f"{scheme}://127.0.0.1:{self.port}/", verify=False)
                return
            except httpx.HTTPError:
                assert time.monotonic() < ends, line
                time.sleep(0.1)
        time.sleep(1)
        assert started.poll() is None, line

    def _stop(self) -> None:
        for process in self._running:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        self._running.clear()


def trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines())


def pattern(printed: str) -> str:
    """A regular expression for an output as printed: any time will do, and a line `...` stands for any lines."""
    lines = (
        "[^\x00]*" if line.strip() == "..." else re.sub(r"\d+\\\.\d+\\ s\b", r"[\\d.]+ s", re.escape(line))
        for line in trimmed(printed).splitlines()
    )
    return "\n".join(lines)

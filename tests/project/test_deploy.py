"""The container: the steps of its Dockerfile, carried out here in folders of their own."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from tests import ROOT

DOCKERFILE = (ROOT / "deploy/Dockerfile").read_text(encoding="utf-8")
SYSTEM = ("apt-get", "useradd")
"""Steps that begin so need a system of their own: what they install for the page is here, or is done without."""


def instructions(kind: str) -> list[str]:
    return re.findall(rf"^{kind} (.*)$", DOCKERFILE, re.MULTILINE)


def context(target: Path) -> None:
    """Copy what `.dockerignore` leaves of the checkout."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert lines[1] == "*", "all is left out but what is named"
    target.mkdir()
    for name in (line[1:] for line in lines if line.startswith("!")):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
        else:
            shutil.copy(ROOT / name, target / name)


@pytest.mark.long
def test_the_image_serves(tmp_path: Path) -> None:
    """From the steps to an answer: built, its account and store made, healthy, and stopped by its signal."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    places = {"/src": tmp_path / "src", "/opt/triplake": tmp_path / "triplake", "/data": tmp_path / "data"}

    def here(text: str) -> str:
        for old, new in places.items():
            text = text.replace(old, str(new))
        return text.replace("3030", port)

    context(places["/src"])
    for step in instructions("RUN"):
        if not step.startswith(SYSTEM):
            subprocess.run(["sh", "-ec", here(step)], check=True, capture_output=True, timeout=600)
    data = places["/data"]
    data.mkdir()
    (data / "triplake.toml").write_text(here((ROOT / "deploy/triplake.toml").read_text("utf-8")), encoding="utf-8")
    (path,) = (line for line in instructions("ENV") if line.startswith("PATH="))
    bin_folder = here(path.split("=", 1)[1].split(":")[0])
    environment = {"PATH": f"{bin_folder}:{os.environ['PATH']}", "HOME": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    (entry,) = json.loads(instructions("ENTRYPOINT")[0])
    command = [f"{bin_folder}/{entry}"]

    def triplake(*arguments: str, stdin: bytes = b"") -> None:
        subprocess.run(
            [*command, *arguments], cwd=data, env=environment, input=stdin, check=True, capture_output=True, timeout=120
        )

    triplake("account", "accounts", "admin", "--role", "admin", stdin=b"some secret words\nsome secret words\n")
    triplake("init", "kg")
    words = [here(word) for word in json.loads(instructions("CMD")[0])]
    (check,) = re.findall(r"CMD (\[.*\])$", DOCKERFILE.split("HEALTHCHECK", 1)[1].split("\n", 1)[0])
    server = subprocess.Popen([*command, *words], cwd=data, env=environment, stderr=subprocess.PIPE)
    try:
        ends, health = time.monotonic() + 120, [f"{bin_folder}/python", *map(here, json.loads(check)[1:])]
        while subprocess.run(health, env=environment, capture_output=True, check=False).returncode:
            assert server.poll() is None, server.stderr.read().decode()  # type: ignore[union-attr]
            assert time.monotonic() < ends
            time.sleep(0.2)
        server.send_signal(getattr(signal, instructions("STOPSIGNAL")[0]))
        assert server.wait(40) in (0, 143)
    finally:
        server.kill()
        server.communicate()

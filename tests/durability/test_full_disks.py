"""Commands on a disk that is full after so many kilobytes: the message names what could not be written."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT
from tests.support.cli import done

DISK = "disk"
COMMANDS = {
    "load": "load disk/new a.nt --quiet",
    "load into a store": "load disk/kg y.nt --quiet",
    "load a packed file": "load new z.nt.gz --quiet",
    "load what is piped": "load new - --format nt --quiet",
    "load with rejects": "load new bad.nt --on-error skip --max-errors 1000000 --rejects disk/rejects --quiet",
    "init": "init disk/new",
    "update": "update disk/kg --add y.nt",
    "export": "export kg -o disk/x.ttl",
    "export, packed": "export kg -o disk/x.nt.gz",
    "backup": "backup kg disk/backup",
    "copy": "copy kg disk/copy",
    "compact": "compact disk/kg",
    "materialise": "materialise disk/kg",
    "restore": "restore disk/kg --to 1",
    "restore from a backup": "restore disk/new --from backup",
    "prefixes": "prefixes disk/kg add ex=http://ex/",
    "account": "account disk/accounts me --token",
    "verify": "verify kg --deep",
    "stream": "stream kg --query all.rq --from stream.txt -o disk/answers",
    "rules": "rules check rule.dlog --data a.nt",
}
LEFT = (0, 4, 12, 40, 120)
"""Kilobytes that are left on the disk: one after the other is enough for one more file."""

SCRIPT = f"""
import json, os, shutil, subprocess, sys, tempfile
from pathlib import Path
from tests.support.cli import run

def mounted(left):
    subprocess.run(["umount", "{DISK}"], stderr=subprocess.DEVNULL)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", "{DISK}"], check=True)
    shutil.copytree("kg", "{DISK}/kg")
    found = os.statvfs("{DISK}")
    Path("{DISK}/filler").write_bytes(bytes(found.f_bavail * found.f_frsize - left * 1024))

piped = Path("a.nt").read_bytes()
for name, command in json.loads(sys.argv[1]).items():
    for left in {LEFT}:
        mounted(left)
        tempfile.tempdir = os.path.abspath("{DISK}")  # where temporary files go, too
        outcome = run(*command.split(), stdin=piped)
        shutil.rmtree("new", ignore_errors=True)
        print(json.dumps([name, left, outcome.code, outcome.err]), flush=True)
"""


def alone(*command: str) -> list[str]:
    """A command with mounts of its own."""
    return ["unshare", "--map-root-user", "--mount", *command]


def can_mount(folder: Path) -> bool:
    if shutil.which("unshare") is None:
        return False
    mounting = alone("mount", "-t", "tmpfs", "tmpfs", str(folder))
    return subprocess.run(mounting, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(
    "names", [("load", "update", "backup"), pytest.param(tuple(COMMANDS), marks=pytest.mark.long)], ids=["some", "all"]
)
def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]) -> None:
    monkeypatch.chdir(tmp_path)
    Path(DISK).mkdir()
    if not can_mount(tmp_path / DISK):
        pytest.skip("no disk of its own can be mounted here")
    lines = [f'<urn:s{n}> <urn:p{n % 7}> "{n * 7919:x}" .\n' for n in range(6000)]
    Path("a.nt").write_text("".join(lines))
    Path("y.nt").write_text("".join(line.replace("urn:s", "urn:t") for line in lines[:3000]))
    Path("z.nt.gz").write_bytes(gzip.compress("".join(lines).encode()))
    Path("bad.nt").write_text("x\n" * 20_000)
    Path("all.rq").write_text(
        "REGISTER QUERY all AS SELECT ?x ?p ?o FROM STREAM <urn:s> [RANGE 5m STEP 1m] { ?x ?p ?o }"
    )
    Path("stream.txt").write_text("".join(f'2024-05-01T12:{n:02}:00Z <urn:a> <urn:b> "{n}" .\n' for n in range(50)))
    Path("rule.dlog").write_text("[?x, <u:q>, ?y] :- [?x, <urn:p1>, ?y] .\n")
    done("load", "kg", "a.nt", "--quiet")
    done("update", "kg", "--delete", "y.nt")
    done("backup", "kg", "backup")
    chosen = json.dumps({name: COMMANDS[name] for name in names})
    ran = subprocess.run(
        alone(sys.executable, "-c", SCRIPT, chosen),
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    failed = set()
    for name, left, code, err in map(json.loads, ran.stdout.splitlines()):
        assert code in (0, 6), (name, left, err)
        if code == 6:
            failed.add(name)
            reason, _, _ = err.partition("No space left on device")
            assert f"{DISK}/" in reason, (name, left, err)
            assert "a file" not in reason, (name, left, err)
    assert failed == set(names)

"""Names the packages, and builds other people's code for the web page into them: pinned versions from npm, bundled
by web/bundle.

`loaders`, `rulesets` and `sparql` are installed as subpackages of `triplake`: their own names are anybody's.

Where npm is missing or reaches no registry the package is whole without it: the page then has a plain field for its
queries and draws no graphs.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

WEB = Path("triplestore/server/web")
MADE = ("vendor.js", "vendor.LICENSES.txt")


class BuildWithPage(build_py):
    """build_py, after the page's third-party code."""

    def run(self) -> None:
        try:
            self._bundle()
        except (OSError, subprocess.CalledProcessError) as error:
            said = getattr(error, "stderr", None) or str(error)
            self.warn(f"the web page gets a plain editor and no drawings, npm failed: {said.strip()[-500:]}")
        super().run()

    def _bundle(self) -> None:
        made = [WEB / "static" / name for name in MADE]
        sources = [*(WEB / "bundle").glob("*.js*"), WEB / "bundle" / "build.mjs"]
        newest = max(source.stat().st_mtime for source in sources)
        if all(file.exists() and file.stat().st_mtime >= newest for file in made):
            return
        with tempfile.TemporaryDirectory() as folder:
            bundle, static = Path(folder, "bundle"), Path(folder, "static")
            shutil.copytree(WEB / "bundle", bundle, ignore=shutil.ignore_patterns("node_modules"))
            static.mkdir()
            for command in (["npm", "ci", "--silent"], ["node", "build.mjs"]):
                subprocess.run(command, cwd=bundle, check=True, capture_output=True, text=True)
            for name in MADE:
                shutil.copy(static / name, WEB / "static" / name)


PARTS = ("loaders", "rulesets", "sparql")
INSIDE = find_packages(include=[pattern for part in PARTS for pattern in (part, f"{part}.*")])

setup(
    packages=["triplake", *find_packages(include=["triplestore", "triplestore.*"]), *(f"triplake.{p}" for p in INSIDE)],
    package_dir={f"triplake.{part}": part for part in PARTS},
    cmdclass={"build_py": BuildWithPage},
)

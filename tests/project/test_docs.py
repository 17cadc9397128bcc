"""The documentation is whole and true: all commands, options, rules and keys are in it, what it shows runs, links lead
somewhere."""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests import ROOT
from tests.support.blocks import FENCE
from triplake import rulesets
from triplake.rulesets import swrl_builtins
from triplake.sparql.to_rules import rules_of_query
from triplestore import Store
from triplestore.cli.commands import cli
from triplestore.compile import check
from triplestore.model import errors

PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES += [ROOT / "rulesets/README.md", *sorted((ROOT / "datasets").glob("*/README.md"))]
PAGE_NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
COMMANDS = (ROOT / "docs/commands.md").read_text(encoding="utf-8")

OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")


def section(text: str, title: str) -> str:
    """What is under a second-level heading."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"no section '## {title}'"
    return found.group(1)


def options(name: str) -> list[click.Option]:
    return [p for p in cli.commands[name].params if isinstance(p, click.Option)]


def rows(text: str) -> list[list[str]]:
    """The cells of the rows of tables."""
    lines = (line for line in text.splitlines() if line.startswith("|") and not re.match(r"\|[-| ]+\|$", line))
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])] for line in lines]


class TestCommands:
    @pytest.mark.parametrize("name", sorted(cli.commands))
    def test_each_is_described_with_its_options(self, name: str) -> None:
        text = section(COMMANDS, name)
        assert re.search(rf"^```text\ntriplake {name}\b", text, re.MULTILINE), "its usage comes first"
        common = section(COMMANDS, "Options of every command")
        for option in options(name):
            for spelling in option.opts:
                assert spelling in OPTION.findall(text + common), f"{name} {spelling}"

    @pytest.mark.parametrize("name", sorted(cli.commands))
    def test_no_option_is_made_up(self, name: str) -> None:
        usages = "".join(body for _, body in FENCE.findall(section(COMMANDS, name)) if body.startswith("triplake "))
        known = {spelling for option in options(name) for spelling in (*option.opts, *option.secondary_opts)}
        first = re.match(rf"(?:triplake {name}\b.*\n(?: .*\n)*)+", usages)
        assert first
        assert set(OPTION.findall(first.group())) <= known

    def test_the_overview_has_them_all(self) -> None:
        assert set(re.findall(r"\[([\w-]+)\]\(#[\w-]+\)", COMMANDS.split("\n## ")[0])) == set(cli.commands)

    def test_exit_codes(self) -> None:
        raised = {e.exit_code for e in vars(errors).values() if isinstance(e, type) and issubclass(e, Exception)}
        described = {int(row[0]) for row in rows(section(COMMANDS, "Exit codes")) if row[0].isdigit()}
        assert described == raised | {0, 1, 129, 130, 137, 143}

    def test_stats_keys(self, tmp_path: Path) -> None:
        with Store.create(tmp_path / "kg", ["none"]) as store:
            stats = store.stats()
        described, last = [], []
        for key, text in (row for row in rows(section(COMMANDS, "stats")) if row[0] != "key"):
            described += re.findall(r"`(\w+)`", key)
            if key == "`last`":
                last = re.findall(r"`(\w+)`", text)
        assert described == list(stats)
        assert last == list(stats["last"])

    def test_formats(self) -> None:
        """Each value that an option offers is named where the option is described (those of load: under init)."""
        for name in cli.commands:
            text = section(COMMANDS, name) + section(COMMANDS, "Options of every command") + section(COMMANDS, "init")
            for option in options(name):
                if isinstance(option.type, click.Choice):
                    assert [c for c in option.type.choices if not re.search(rf"\b{c}\b", text)] == [], name


class TestRules:
    README = (ROOT / "rulesets/README.md").read_text(encoding="utf-8")

    def test_each_rule_has_a_row(self) -> None:
        described = {row[0].strip("`"): row for row in rows(section(self.README, "The rule table")) if row[0] != "id"}
        defined = {rule.name for name in rulesets.NAMES for rule in rulesets.named(name).rules}
        assert defined - set(described) == set()
        for rule in set(described) - defined:
            where = described[rule][2]
            code = [ROOT / "triplestore" / name for name in where.split(", ")]
            assert where in ("—", "the store") or all(p.is_file() for p in code), f"no ruleset has {rule}"

    def test_each_ruleset_is_named(self) -> None:
        page = (ROOT / "docs/rules.md").read_text(encoding="utf-8")
        assert [name for name in rulesets.NAMES if f"`{name}`" not in page + self.README] == []


class TestRulesPage:
    PAGE = (ROOT / "docs/rules.md").read_text(encoding="utf-8")

    def test_the_query_is_a_rule(self) -> None:
        (query,) = [b for lang, b in FENCE.findall(self.PAGE.split("### CONSTRUCT queries\n")[1]) if lang == "sparql"]
        assert len(rules_of_query(query, "children.rq", check.fault)) == 1

    def test_each_built_in_of_swrl_is_listed(self) -> None:
        cells = [row[0] for row in rows(self.PAGE.split("### SWRL\n")[1].split("\n### ")[0])]
        listed = {name for cell in cells for name in re.findall(r"`([a-z]\w+)`", cell)}
        assert listed == set(swrl_builtins.NAMES)


class TestPython:
    PAGE = (ROOT / "docs/python.md").read_text(encoding="utf-8")

    def test_methods_exist(self) -> None:
        named = set(re.findall(r"`(?:Store\.|store\.)?(\w+)\(", "\n".join(row[0] for row in rows(self.PAGE))))
        assert len(named) > 10
        assert [name for name in named if not callable(getattr(Store, name, None))] == []

    def test_public_methods_are_described(self) -> None:
        """But `lines` and `update_files`, which are for the command line, and `from_session`, for the server."""
        public = {n for n in dir(Store) if not n.startswith("_")} - {"lines", "update_files", "from_session"}
        public -= {"path"}
        assert [name for name in sorted(public) if not re.search(rf"\b{name}\b", self.PAGE)] == []

    def test_errors_are_described(self) -> None:
        named = {name for row in rows(section(self.PAGE, "Errors")) for name in re.findall(r"`(\w+Error)`", row[0])}
        raised = {n for n, e in vars(errors).items() if isinstance(e, type) and issubclass(e, Exception)}
        assert named == raised - {"TriplakeError"}


def shown_commands(text: str) -> Iterator[list[str]]:
    """The arguments of each `triplake` command in the blocks of shell."""
    for language, body in FENCE.findall(text):
        if language in ("sh", "console"):
            for line in body.replace("\\\n", " ").splitlines():
                for part in re.split(r"&&|\|\||(?<!')\|", line.removeprefix("$ ")):
                    words = shlex.split(part.split(" > ")[0], comments=True)
                    if words[:1] == ["triplake"]:
                        yield words[1:]


def anchors(page: Path) -> set[str]:
    """The names that GitHub gives to headings."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", PAGE_NAMES)
class TestPages:
    def test_commands_can_be_given(self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        Path("triplake.toml").touch()
        for words in shown_commands((ROOT / name).read_text(encoding="utf-8")):
            if words[0] in ("--help", "--version"):
                continue
            assert words[0] in cli.commands, words
            cli.commands[words[0]].make_context(words[0], words[1:]).close()  # raises where an option is unknown

    def test_files_are_sent_as_they_are(self, name: str) -> None:
        """curl's `--data @file` takes ends of lines out, and comments then hide what follows them."""
        commands = [body for language, body in FENCE.findall((ROOT / name).read_text(encoding="utf-8"))]
        assert re.findall(r"(?:--data|-d|--data-ascii) @.*", "\n".join(commands)) == []

    def test_links_lead_somewhere(self, name: str) -> None:
        page = ROOT / name
        for link in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", page.read_text(encoding="utf-8"))):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link

    def test_paths_of_the_project_exist(self, name: str) -> None:
        """Wherever a page names one, in a command as in a sentence; the changelog names what has moved since."""
        if name == "CHANGELOG.md":
            return
        folders = "|".join(sorted(path.parent.name for path in ROOT.glob("[a-z]*/*.*") if path.is_file()))
        text = (ROOT / name).read_text(encoding="utf-8")
        named = re.findall(rf"(?<![\w./-])(?:{folders})/(?!sparql1[0-2]/)(?:[\w./*-]*\w\*?)?", text)  # not W3C's suites
        assert [path for path in named if not any(any(ROOT.glob(path + more)) for more in ("", ".py"))] == []
        modules = re.findall(r"`((?:[\w-]+/)*[\w-]+\.py)\b", text)
        modules = [module for module in modules if not (ROOT / module).exists()]  # the others are in some room
        assert [module for module in modules if not any(ROOT.glob(f"[a-z]*/**/{module}"))] == []

    def test_lines_are_short(self, name: str) -> None:
        """But those of tables."""
        lines = re.sub(r"<!--.*?-->", "", (ROOT / name).read_text(encoding="utf-8")).splitlines()
        assert [line for line in lines if len(line) > 120 and not line.startswith("|")] == []


class TestReadme:
    TEXT = (ROOT / "README.md").read_text(encoding="utf-8")

    def test_make_targets(self) -> None:
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        assert re.findall(r"^make (\w+)", self.TEXT, re.MULTILINE) == ["demo", "test"]
        pages = self.TEXT + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
        targets = set(re.findall(r"(?:^|`|; )make (test[\w-]*|demo|lint)", pages, re.MULTILINE))
        assert len(targets) > 4
        assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)

    def test_make_looks_for_java_where_it_is_looked_for(self) -> None:
        found = re.search(r"-c 'from (\S+) import (\w+); ", (ROOT / "Makefile").read_text(encoding="utf-8"))
        assert found is not None
        assert callable(getattr(importlib.import_module(found[1]), found[2]))

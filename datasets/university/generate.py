"""University data with the vocabulary and the proportions of LUBM, as N-Triples text.

The proportions are those published with the Lehigh University Benchmark (Guo, Pan and Heflin, "LUBM: A benchmark for
OWL knowledge base systems", Journal of Web Semantics 3, 2005); the program is our own. `Profile` holds every number.
One department is made at a time, so memory does not grow with the number of universities. A university depends on the
seed and its own number, and on nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from datasets.university.dice import Dice

UB = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"
_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"

Range = tuple[int, int]


@dataclass(frozen=True)
class Profile:
    """How many of what. Ranges include both ends and are drawn uniformly; shares are of the group named."""

    departments: Range = (15, 25)
    ranks: tuple[tuple[str, Range, Range], ...] = (  # rank, how many a department, publications of each
        ("FullProfessor", (7, 10), (15, 20)),
        ("AssociateProfessor", (10, 14), (10, 18)),
        ("AssistantProfessor", (8, 11), (5, 10)),
        ("Lecturer", (5, 7), (0, 5)),
    )
    courses: Range = (1, 2)  # taught by each member of the faculty; as many again for graduates
    undergraduates: Range = (8, 14)  # for each member of the faculty
    graduates: Range = (3, 4)
    undergraduate_courses: Range = (2, 4)  # taken by each
    graduate_courses: Range = (1, 3)
    advised: int = 5  # one undergraduate in five has an advisor; every graduate has
    teaching: tuple[float, float] = (1 / 5, 1 / 4)  # share of the graduates who assist in a course
    research: tuple[float, float] = (1 / 4, 1 / 3)  # share of those who assist in research
    joint_publications: Range = (0, 5)  # of each graduate with the faculty of the department
    groups: Range = (10, 20)  # research groups
    interests: int = 30  # research interests there are
    alma_maters: int = 1000  # universities that degrees come from


PROFILE = Profile()


def university(number: int, seed: int, aliases: float = 0.0) -> Iterator[str]:
    """The triples of one university, a department at a time, as N-Triples text.

    `aliases` is the share of the people who also appear in a staff directory, under another IRI, with the same e-mail
    address: see merging.ttl.
    """
    dice = Dice(seed, number)
    home = f"<http://www.University{number}.edu>"
    yield f'{home} {_TYPE} <{UB}University> .\n{home} <{UB}name> "University{number}" .\n'
    known = {number}
    for department in range(dice.one(*PROFILE.departments)):
        place = _Department(dice, number, department)
        text = place.text()
        fresh = sorted(place.schools - known)
        known |= place.schools
        yield text + "".join(f"<http://www.University{n}.edu> {_TYPE} <{UB}University> .\n" for n in fresh)
        if aliases:
            yield _directory(Dice(seed, number, department + 1), number, department, text, aliases)


class _Department:
    """One department while it is made: what its lines have in common is put together once."""

    def __init__(self, dice: Dice, number: int, index: int) -> None:
        self.dice, self.number, self.index = dice, number, index
        self.host = f"Department{index}.University{number}.edu"
        self.this = f"<http://www.{self.host}>"
        self.base = f"<http://www.{self.host}/"
        self.ranks = [(rank, dice.one(*count), papers) for rank, count, papers in PROFILE.ranks]
        self.faculty = [f"{rank}{i}" for rank, count, _ in self.ranks for i in range(count)]
        self.professors = [who for who in self.faculty if not who.startswith("Lecturer")]
        self.schools: set[int] = set()  # the numbers of the universities that its people have degrees from

    def text(self) -> str:
        """All its triples. The order of the steps is part of what a seed means."""
        steps = (self._itself, self._faculty, self._courses, self._undergraduates, self._graduates)
        return "".join(chain.from_iterable(step() for step in (*steps, self._publications, self._groups)))

    def _itself(self) -> list[str]:
        head = self.dice.one(0, self.ranks[0][1] - 1)
        return [
            f'{self.this} {_TYPE} <{UB}Department> .\n{self.this} <{UB}name> "Department{self.index}" .\n'
            f"{self.this} <{UB}subOrganizationOf> <http://www.University{self.number}.edu> .\n"
            f"{self.base}FullProfessor{head}> <{UB}headOf> {self.this} .\n"
        ]

    def _person(self, who: str, kind: str, link: str) -> str:
        """What is said of every person; `link` ties them to the department."""
        me = f"{self.base}{who}>"
        return (
            f'{me} {_TYPE} <{UB}{kind}> .\n{me} <{UB}name> "{who}" .\n{me} <{UB}emailAddress> "{who}@{self.host}" .\n'
            f'{me} <{UB}telephone> "xxx-xxx-xxxx" .\n{me} <{UB}{link}> {self.this} .\n'
        )

    def _degrees(self, level: str, people: list[str]) -> list[str]:
        schools = self.dice.below(PROFILE.alma_maters, len(people)).tolist()
        self.schools.update(schools)
        base, link = self.base, f"> <{UB}{level}DegreeFrom> <http://www.University"
        return [f"{base}{who}{link}{school}.edu> .\n" for who, school in zip(people, schools, strict=True)]

    def _faculty(self) -> list[str]:
        out = [self._person(f"{rank}{i}", rank, "worksFor") for rank, count, _ in self.ranks for i in range(count)]
        for level in ("undergraduate", "masters", "doctoral"):
            out += self._degrees(level, self.faculty)
        interests = self.dice.below(PROFILE.interests, len(self.professors)).tolist()
        out += [
            f'{self.base}{who}> <{UB}researchInterest> "Research{interest}" .\n'
            for who, interest in zip(self.professors, interests, strict=True)
        ]
        return out

    def _courses(self) -> list[str]:
        taught, taught_graduate = (self.dice.between(*PROFILE.courses, len(self.faculty)) for _ in range(2))
        self.courses, self.graduate_courses = int(taught.sum()), int(taught_graduate.sum())
        base = self.base
        return [
            f'{base}{kind}{i}> {_TYPE} <{UB}{kind}> .\n{base}{kind}{i}> <{UB}name> "{kind}{i}" .\n'
            f"{base}{self.faculty[who]}> <{UB}teacherOf> {base}{kind}{i}> .\n"
            for kind, given in (("Course", taught), ("GraduateCourse", taught_graduate))
            for i, who in enumerate(np.repeat(np.arange(len(given)), given).tolist())
        ]

    def _advice(self, people: list[str]) -> list[str]:
        chosen = self.dice.below(len(self.professors), len(people)).tolist()
        return [
            f"{self.base}{who}> <{UB}advisor> {self.base}{self.professors[professor]}> .\n"
            for who, professor in zip(people, chosen, strict=True)
        ]

    def _students(self, kind: str, each: Range) -> list[str]:
        """The names of the students of a kind, `each` for every member of the faculty."""
        return [f"{kind}{i}" for i in range(int(self.dice.between(*each, len(self.faculty)).sum()))]

    def _pairs(self, rows: int, things: int, each: Range) -> zip[tuple[int, int]]:
        """Links of each of the rows to `each` of the things, all different: pairs of their numbers."""
        low, high = each
        count = self.dice.between(low, high, rows)
        row, column = np.nonzero(np.arange(high) < count[:, None])
        return zip(row.tolist(), self.dice.distinct(things, high, rows)[row, column].tolist(), strict=True)

    def _undergraduates(self) -> list[str]:
        kind, base = "UndergraduateStudent", self.base
        people = self._students(kind, PROFILE.undergraduates)
        takes = f"> <{UB}takesCourse> {base}Course"
        taken = self._pairs(len(people), self.courses, PROFILE.undergraduate_courses)
        advised = np.flatnonzero(self.dice.below(PROFILE.advised, len(people)) == 0).tolist()
        return [
            *(self._person(who, kind, "memberOf") for who in people),
            *(f"{base}{kind}{i}{takes}{course}> .\n" for i, course in taken),
            *self._advice([people[i] for i in advised]),
        ]

    def _graduates(self) -> list[str]:
        kind, base = "GraduateStudent", self.base
        people = self._students(kind, PROFILE.graduates)
        self.graduates = len(people)
        takes = f"> <{UB}takesCourse> {base}GraduateCourse"
        out = [self._person(who, kind, "memberOf") for who in people]
        out += self._degrees("undergraduate", people)
        out += self._advice(people)
        taken = self._pairs(len(people), self.graduate_courses, PROFILE.graduate_courses)
        out += [f"{base}{kind}{i}{takes}{course}> .\n" for i, course in taken]
        # Some assist in teaching, others in research; none does both.
        teaching, research = (self._share(*share) for share in (PROFILE.teaching, PROFILE.research))
        assistants = [people[i] for i in self.dice.sample(len(people), teaching + research).tolist()]
        assisted = self.dice.sample(self.courses, teaching).tolist()
        out += [
            f"{base}{who}> {_TYPE} <{UB}TeachingAssistant> .\n"
            f"{base}{who}> <{UB}teachingAssistantOf> {base}Course{course}> .\n"
            for who, course in zip(assistants[:teaching], assisted, strict=True)
        ]
        out += [f"{base}{who}> {_TYPE} <{UB}ResearchAssistant> .\n" for who in assistants[teaching:]]
        return out

    def _share(self, low: float, high: float) -> int:
        """A number of graduates: a share of them, drawn between the two. No course has more than one assistant."""
        drawn = low + (high - low) * self.dice.uniform(1)[0]
        return min(int(self.graduates * drawn), self.courses)

    def _publications(self) -> list[str]:
        base, author = self.base, f"> <{UB}publicationAuthor> {self.base}"
        wrote = np.concatenate([self.dice.between(*papers, count) for _, count, papers in self.ranks]).tolist()
        papers = [(who, i) for who, count in zip(self.faculty, wrote, strict=True) for i in range(count)]
        out = [
            f"{base}{who}/Publication{i}> {_TYPE} <{UB}Publication> .\n"
            f'{base}{who}/Publication{i}> <{UB}name> "Publication{i}" .\n{base}{who}/Publication{i}{author}{who}> .\n'
            for who, i in papers
        ]
        names = [f"{base}{who}/Publication{i}" for who, i in papers]
        joint = self._pairs(self.graduates, len(papers), PROFILE.joint_publications)
        return out + [f"{names[paper]}{author}GraduateStudent{i}> .\n" for i, paper in joint]

    def _groups(self) -> list[str]:
        return [
            f"{self.base}ResearchGroup{i}> {_TYPE} <{UB}ResearchGroup> .\n"
            f"{self.base}ResearchGroup{i}> <{UB}subOrganizationOf> {self.this} .\n"
            for i in range(self.dice.one(*PROFILE.groups))
        ]


def _directory(dice: Dice, number: int, index: int, text: str, share: float) -> str:
    """The staff directory of one department: other IRIs for some of its people, known by their e-mail address."""
    marker = f"> <{UB}emailAddress> "
    addresses = [line.split(" ", 2)[2] for line in text.splitlines() if marker in line]
    listed = np.flatnonzero(dice.uniform(len(addresses)) < share).tolist()
    base = f"<http://directory.University{number}.edu/d{index}/"
    return "".join(
        f'{base}{i}> <{UB}emailAddress> {addresses[i]}\n{base}{i}> <{UB}officeNumber> "{index}.{i}" .\n' for i in listed
    )


def generate(universities: int, seed: int = 0, start: int = 0, aliases: float = 0.0) -> Iterator[str]:
    """The triples of universities `start` to `start + universities - 1`, in pieces of about a megabyte."""
    return chain.from_iterable(university(number, seed, aliases) for number in range(start, start + universities))

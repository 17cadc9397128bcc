"""Readers: files of every RDF syntax, and RDF Patch, to tables and lists of tokens (see `triplestore.model.terms`)."""

from triplake.loaders.documents import bounded_text
from triplake.loaders.given import MOST, Mapping, given_sources
from triplake.loaders.patch import Change, quads_of, read_patch
from triplake.loaders.progress import Progress
from triplake.loaders.read import OnError, read_into
from triplake.loaders.rejects import LeftOut
from triplake.loaders.report import LoadReport
from triplake.loaders.sources import FORMATS, Source, Syntax, discard, sources
from triplake.loaders.tokens import Triple

__all__ = [
    "FORMATS",
    "MOST",
    "Change",
    "LeftOut",
    "LoadReport",
    "Mapping",
    "OnError",
    "Progress",
    "Source",
    "Syntax",
    "Triple",
    "bounded_text",
    "discard",
    "given_sources",
    "quads_of",
    "read_into",
    "read_patch",
    "sources",
]

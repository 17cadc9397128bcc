"""`python -m triplestore.cli` is the command `triplake`."""

from triplestore.cli.entry import main

main()

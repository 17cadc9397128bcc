"""Judging axioms: what the rules make of them, what they entail, what they import."""

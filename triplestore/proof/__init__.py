"""Proofs: why a fact holds, and why two terms are one.

A proof is made of rule instances between triples of the expanded closure, down to asserted triples. Its depth counts
rule applications; equality (of terms known to be equal at the same depth) costs none, as in a round of the
r-materialisation. `explain` finds a proof of smallest depth:

1. `slices`: backwards from the goal, set at a time, the rule instances that can take part in a proof of depth k;
2. `forward`: forwards again, round by round in the users' own ids, with the first reason of each fact kept;
3. until the goal is proved within k rounds; otherwise k grows (iterative deepening).
"""

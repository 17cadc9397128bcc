"""Cases for equality: the rules of rulesets/equality.dlog, and equalities of literals, which are violations."""

from tests.rule_cases import derives, numbered, violates

CASES = numbered(
    (
        derives("eq-sym", ":a owl:sameAs :b", ":b owl:sameAs :a", ":a owl:differentFrom :b"),
        derives(
            "eq-trans",
            ":a owl:sameAs :b . :b owl:sameAs :c . :c owl:sameAs :d",
            ":a owl:sameAs :d",
            ":a owl:sameAs :b . :c owl:sameAs :d",
        ),
        derives("eq-rep-s", ":a owl:sameAs :b . :a :p :x", ":b :p :x", ":a owl:sameAs :b . :c :p :x"),
        derives("eq-rep-p", ":p owl:sameAs :q . :x :p :y", ":x :q :y", ":p owl:sameAs :q . :x :r :y"),
        derives("eq-rep-o", ":a owl:sameAs :b . :x :p :a", ":x :p :b", ":a owl:sameAs :b . :x :p 'a'"),
    )
)
"""One must-derive and one must-not-derive case for each rule."""

LITERALS = numbered(
    (
        violates("eq-literal", ":a owl:sameAs 'asserted'", ":a owl:sameAs :b . :a :p 'fine 1'"),
        violates("eq-literal", ":a owl:sameAs :b . :b owl:sameAs 'of an equal'", ":a owl:sameAs :b . :b :p 'fine 2'"),
        violates(
            "prp-fp",
            ":p a owl:FunctionalProperty . :x :p 'one' , 'other'",
            ":p a owl:FunctionalProperty . :x :p 'fine 3' . :y :p 'fine 4'",
        ),
        violates(
            "prp-fp",
            ":p a owl:FunctionalProperty . :x :p 'mixed' , :b",
            ":p a owl:FunctionalProperty . :x :p 'fine 5' . :y :p 'fine 5'",
        ),
    )
)
"""Literals that would become equal to another term, by assertion or by a rule: a violation, never a merge."""

"""Cases for equality: the rules of rulesets/equality.dlog, and two values that become one (dt-diff, eq-diff1)."""

from tests.support.rule_cases import derives, numbered, violates

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
        violates("eq-diff1", ":a owl:sameAs 'one' , 'other'", ":a owl:sameAs 'fine 1'"),
        violates(
            "eq-diff1",
            ":a owl:sameAs :b , 'of one' . :b owl:sameAs 'of an equal'",
            ":a owl:sameAs :b , 'fine 2' . :b owl:sameAs 'fine 2'",
        ),
        violates(
            "eq-diff1",
            ":p a owl:FunctionalProperty . :x :p 'one of two' , 'the other'",
            ":p a owl:FunctionalProperty . :x :p 'fine 3' . :y :p 'fine 4'",
        ),
        violates(
            "eq-diff1",
            ":p a owl:FunctionalProperty . :x :p 'mixed' , :b . :b owl:sameAs 'unlike'",
            ":p a owl:FunctionalProperty . :x :p 'fine 5' , :b . :y :p 'fine 6'",
        ),
    )
)
"""Terms that come to have two values, by assertion or by a rule."""

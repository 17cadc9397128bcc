"""Cases for the rules of rulesets/owl2rl.dlog, in its order."""

from tests.support.rule_cases import derives, numbered, violates

_ZERO = '"0"^^xsd:nonNegativeInteger'
_ONE = '"1"^^xsd:nonNegativeInteger'

CASES = numbered(
    (
        # Table 4: equality
        violates(
            "eq-diff1", ":a owl:differentFrom :b . :b owl:sameAs :a", ":a owl:differentFrom :b . :b owl:sameAs :c"
        ),
        violates("eq-diff1", ":a owl:differentFrom :a", ":a owl:differentFrom :b . :b owl:differentFrom :a"),
        violates(
            "eq-diff2",
            "[] a owl:AllDifferent ; owl:members (:a :b :c) . :b owl:sameAs :c",
            "[] a owl:AllDifferent ; owl:members (:a :b :c) . :b owl:sameAs :d",
        ),
        violates(
            "eq-diff2",
            "[] a owl:AllDifferent ; owl:members (:a :b :a)",
            "[] owl:members (:a :b :a)",
        ),
        violates(
            "eq-diff3",
            "[] a owl:AllDifferent ; owl:distinctMembers (:a :b :c) . :c owl:sameAs :x . :x owl:sameAs :a",
            "[] a owl:AllDifferent ; owl:distinctMembers (:a) . :a owl:sameAs :b",
        ),
        # Table 5: axioms about properties
        derives(
            "prp-ap",
            ":x rdfs:label 'x'",
            "rdfs:label a owl:AnnotationProperty",
            ":x :label 'x'",
            ":label a owl:AnnotationProperty",
        ),
        derives("prp-ap", "", "owl:versionInfo a owl:AnnotationProperty", "", "owl:imports a owl:AnnotationProperty"),
        derives("prp-dom", ":p rdfs:domain :C . :x :p :y", ":x a :C", ":p rdfs:domain :C . :y :p :x . :x :q :y"),
        derives("prp-rng", ":p rdfs:range :C . :x :p :y", ":y a :C", ":p rdfs:range :C . :y :p :x . :x :q :y"),
        derives(
            "prp-fp",
            ":p a owl:FunctionalProperty . :x :p :a , :b",
            ":a owl:sameAs :b",
            ":p a owl:FunctionalProperty . :x :p :a . :y :p :b . :x :q :a , :b",
        ),
        derives(
            "prp-ifp",
            ":p a owl:InverseFunctionalProperty . :a :p :x . :b :p :x",
            ":a owl:sameAs :b",
            ":p a owl:InverseFunctionalProperty . :a :p :x . :b :p :y . :x :p :a , :b",
        ),
        derives(
            "prp-ifp",
            ":p a owl:InverseFunctionalProperty . :a :p '1' . :b :p '1'",
            ":b owl:sameAs :a",
            ":p a owl:InverseFunctionalProperty . :a :p '1' . :b :p 1",
        ),
        violates(
            "prp-irp",
            ":p a owl:IrreflexiveProperty . :x :p :x",
            ":p a owl:IrreflexiveProperty . :x :p :y . :y :p :x . :x :q :x",
        ),
        derives(
            "prp-symp", ":p a owl:SymmetricProperty . :x :p :y", ":y :p :x", ":p a owl:TransitiveProperty . :x :p :y"
        ),
        violates(
            "prp-asyp",
            ":p a owl:AsymmetricProperty . :x :p :y . :y :p :x",
            ":p a owl:AsymmetricProperty . :x :p :y . :y :q :x . :y :p :z",
        ),
        derives(
            "prp-trp",
            ":p a owl:TransitiveProperty . :a :p :b . :b :p :c . :c :p :d",
            ":a :p :d",
            ":p a owl:TransitiveProperty . :a :p :b . :b :q :c . :c :p :d",
        ),
        derives("prp-spo1", ":p rdfs:subPropertyOf :q . :x :p :y", ":x :q :y", ":q rdfs:subPropertyOf :p . :x :p :y"),
        derives(
            "prp-spo2",
            ":p owl:propertyChainAxiom (:q :r) . :a :q :b . :b :r :c",
            ":a :p :c",
            ":p owl:propertyChainAxiom (:q :r) . :a :r :b . :b :q :c",
        ),
        derives(
            "prp-spo2",
            ":p owl:propertyChainAxiom (:q :r :q) . :a :q :b . :b :r :c . :c :q :d",
            ":a :p :d",
            ":p owl:propertyChainAxiom (:q :r :q) . :a :q :b . :b :r :c . :c :r :d",
        ),
        derives(
            "prp-spo2",
            ":p owl:propertyChainAxiom (:q) . :a :q :b",
            ":a :p :b",
            ":p owl:propertyChainAxiom () . :a :q :b",
        ),
        derives(
            "prp-eqp1",
            ":p owl:equivalentProperty :q . :x :p :y",
            ":x :q :y",
            ":p owl:equivalentProperty :q",
            ":x :q :y",
        ),
        derives(
            "prp-eqp2", ":p owl:equivalentProperty :q . :x :q :y", ":x :p :y", ":p owl:equivalentClass :q . :x :q :y"
        ),
        violates(
            "prp-pdw",
            ":p owl:propertyDisjointWith :q . :x :p :y . :x :q :y",
            ":p owl:propertyDisjointWith :q . :x :p :y . :y :q :x",
        ),
        violates(
            "prp-adp",
            "[] a owl:AllDisjointProperties ; owl:members (:p :q :r) . :x :q :y . :x :r :y",
            "[] a owl:AllDisjointProperties ; owl:members (:p :q :r) . :x :q :y . :x :r :z . :x :s :y",
        ),
        derives("prp-inv1", ":p owl:inverseOf :q . :x :p :y", ":y :q :x", ":p owl:inverseOf :q . :x :p :y", ":x :q :y"),
        derives("prp-inv2", ":p owl:inverseOf :q . :x :q :y", ":y :p :x", ":p owl:inverseOf :q . :x :q :y", ":x :p :y"),
        derives(
            "prp-key",
            ":C owl:hasKey (:p :q) . :a a :C ; :p 1 ; :q 2 . :b a :C ; :p 1 ; :q 2",
            ":a owl:sameAs :b",
            ":C owl:hasKey (:p :q) . :a a :C ; :p 1 ; :q 2 . :b a :C ; :p 1 ; :q 3",
        ),
        derives(
            "prp-key",
            ":C owl:hasKey (:p) . :a a :C ; :p :k . :b a :C ; :p :k",
            ":b owl:sameAs :a",
            ":C owl:hasKey (:p) . :a a :C ; :p :k . :b a :D ; :p :k",
        ),
        derives(
            "prp-key",
            ":C owl:hasKey (:p :q :r) . :a a :C ; :p 1 ; :q 2 ; :r 3 , 4 . :b a :C ; :p 1 ; :q 2 ; :r 4",
            ":a owl:sameAs :b",
            ":C owl:hasKey (:p :q :r) . :a a :C ; :p 1 ; :q 2 . :b a :C ; :p 1 ; :q 2",
        ),
        derives(
            "prp-key",
            ":C owl:hasKey _:k . _:k rdf:first :p , :q ; rdf:rest rdf:nil . :a a :C ; :q 1 . :b a :C ; :q 1",
            ":a owl:sameAs :b",
            ":C owl:hasKey () . :a a :C . :b a :C",
        ),
        violates(
            "prp-npa1",
            ":n owl:sourceIndividual :a ; owl:assertionProperty :p ; owl:targetIndividual :b . :a :p :b",
            ":n owl:sourceIndividual :a ; owl:assertionProperty :p ; owl:targetIndividual :b . :b :p :a . :a :q :b",
        ),
        violates(
            "prp-npa2",
            ":n owl:sourceIndividual :a ; owl:assertionProperty :p ; owl:targetValue 'v' . :a :p 'v'",
            ":n owl:sourceIndividual :a ; owl:assertionProperty :p ; owl:targetValue 'v' . :a :p 'v'@en , 'w'",
        ),
        # Table 6: classes
        derives("cls-thing", "", "owl:Thing a owl:Class", ":x :p :Thing", ":Thing a owl:Class"),
        derives("cls-nothing1", "", "owl:Nothing a owl:Class", ":x :p :Nothing", ":Nothing a owl:Class"),
        violates("cls-nothing2", ":x a owl:Nothing", ":x a owl:Thing , :Nothing"),
        derives(
            "cls-int1",
            ":C owl:intersectionOf (:A :B) . :x a :A , :B",
            ":x a :C",
            ":C owl:intersectionOf (:A :B) . :x a :A . :y a :B",
        ),
        derives(
            "cls-int1",
            ":C owl:intersectionOf (:A :B :D) . :x a :A , :B , :D",
            ":x a :C",
            ":C owl:intersectionOf (:A :B :D) . :x a :A , :B",
        ),
        derives("cls-int1", ":C owl:intersectionOf (:A) . :x a :A", ":x a :C", ":C owl:intersectionOf () . :x a :A"),
        derives(
            "cls-int2",
            ":C owl:intersectionOf (:A :B :D) . :x a :C",
            ":x a :D",
            ":C owl:intersectionOf (:A :B) . :x a :A",
            ":x a :B",
        ),
        derives(
            "cls-uni", ":C owl:unionOf (:A :B) . :x a :B", ":x a :C", ":C owl:unionOf (:A :B) . :x a :C", ":x a :B"
        ),
        violates("cls-com", ":A owl:complementOf :B . :x a :A , :B", ":A owl:complementOf :B . :x a :A . :y a :B"),
        derives(
            "cls-svf1",
            ":R owl:someValuesFrom :C ; owl:onProperty :p . :x :p :y . :y a :C",
            ":x a :R",
            ":R owl:someValuesFrom :C ; owl:onProperty :p . :x :p :y . :x a :C . :y a :D",
        ),
        derives(
            "cls-svf2",
            ":R owl:someValuesFrom owl:Thing ; owl:onProperty :p . :x :p :y",
            ":x a :R",
            ":R owl:someValuesFrom :Thing ; owl:onProperty :p . :x :p :y",
        ),
        derives(
            "cls-avf",
            ":R owl:allValuesFrom :C ; owl:onProperty :p . :x a :R ; :p :y",
            ":y a :C",
            ":R owl:allValuesFrom :C ; owl:onProperty :p . :x :p :y . :z a :R ; :q :y",
        ),
        derives(
            "cls-hv1",
            ":R owl:hasValue :v ; owl:onProperty :p . :x a :R",
            ":x :p :v",
            ":R owl:hasValue :v ; owl:onProperty :p . :x a :S",
        ),
        derives(
            "cls-hv2",
            ":R owl:hasValue 7 ; owl:onProperty :p . :x :p 7",
            ":x a :R",
            ":R owl:hasValue 7 ; owl:onProperty :p . :x :p 8 ; :q 7",
        ),
        derives(
            "cls-hv1",
            ":R owl:hasValue 1 ; owl:onProperty :p . :x a :R",
            ":x :p 1",
            ":R owl:hasValue 1 ; owl:onProperty :p . :x a :R",
            f":x :p {_ONE}",
        ),
        derives(
            "cls-hv2",
            f":R owl:hasValue {_ONE} ; owl:onProperty :p . :x :p {_ONE}",
            ":x a :R",
            f":R owl:hasValue {_ONE} ; owl:onProperty :p . :x :p 1.5",
        ),
        violates(
            "cls-maxc1",
            f":R owl:maxCardinality {_ZERO} ; owl:onProperty :p . :x a :R ; :p :y",
            f":R owl:maxCardinality {_ZERO} ; owl:onProperty :p . :x a :R ; :q :y . :z :p :y",
        ),
        derives(
            "cls-maxc2",
            f":R owl:maxCardinality {_ONE} ; owl:onProperty :p . :x a :R ; :p :a , :b",
            ":a owl:sameAs :b",
            ':R owl:maxCardinality "2"^^xsd:nonNegativeInteger ; owl:onProperty :p . :x a :R ; :p :a , :b',
        ),
        derives(
            "cls-maxc2",
            ":R owl:maxCardinality 1 ; owl:onProperty :p . :x a :R ; :p :a , :b",
            ":a owl:sameAs :b",
            ":R owl:maxCardinality '1' ; owl:onProperty :p . :x a :R ; :p :a , :b",
        ),
        violates(
            "cls-maxqc1",
            f":R owl:maxQualifiedCardinality {_ZERO} ; owl:onProperty :p ; owl:onClass :C . :x a :R ; :p :y . :y a :C",
            f":R owl:maxQualifiedCardinality {_ZERO} ; owl:onProperty :p ; owl:onClass :C . :x a :R , :C ; :p :y",
        ),
        violates(
            "cls-maxqc2",
            f":R owl:maxQualifiedCardinality {_ZERO} ; owl:onProperty :p ; owl:onClass owl:Thing . :x a :R ; :p :y",
            f":R owl:maxQualifiedCardinality {_ZERO} ; owl:onProperty :p ; owl:onClass :Thing . :x a :R ; :p :y",
        ),
        derives(
            "cls-maxqc3",
            f":R owl:maxQualifiedCardinality {_ONE} ; owl:onProperty :p ; owl:onClass :C ."
            " :x a :R ; :p :a , :b . :a a :C . :b a :C",
            ":a owl:sameAs :b",
            f":R owl:maxQualifiedCardinality {_ONE} ; owl:onProperty :p ; owl:onClass :C ."
            " :x a :R ; :p :a , :b . :a a :C . :b a :D",
        ),
        derives(
            "cls-maxqc4",
            f":R owl:maxQualifiedCardinality {_ONE} ; owl:onProperty :p ; owl:onClass owl:Thing . :x a :R ; :p :a , :b",
            ":a owl:sameAs :b",
            f":R owl:maxQualifiedCardinality {_ONE} ; owl:onProperty :p ; owl:onClass owl:Thing . :x :p :a , :b",
        ),
        derives(
            "cls-oo", ":C owl:oneOf (:a :b :c)", ":c a :C", ":C owl:oneOf (:a :b :c) . :D owl:unionOf (:d)", ":d a :C"
        ),
        # Table 7: class axioms
        derives("cax-sco", ":A rdfs:subClassOf :B . :x a :A", ":x a :B", ":B rdfs:subClassOf :A . :x a :A"),
        derives("cax-eqc1", ":A owl:equivalentClass :B . :x a :A", ":x a :B", ":A owl:equivalentProperty :B . :x a :A"),
        derives("cax-eqc2", ":A owl:equivalentClass :B . :x a :B", ":x a :A", ":A owl:disjointWith :B . :x a :B"),
        violates("cax-dw", ":A owl:disjointWith :B . :x a :A , :B", ":A owl:disjointWith :B . :x a :A . :y a :B"),
        violates(
            "cax-adc",
            "[] a owl:AllDisjointClasses ; owl:members (:A :B :C) . :x a :A , :C",
            "[] a owl:AllDisjointClasses ; owl:members (:A :B :C) . :x a :A . :y a :B . :z a :C , :D",
        ),
        # Table 9: schema vocabulary
        derives("scm-cls", ":C a owl:Class", ":C rdfs:subClassOf owl:Thing", ":C a rdfs:Class"),
        derives("scm-cls", ":C a owl:Class", "owl:Nothing rdfs:subClassOf :C", ":x a :C"),
        derives(
            "scm-cls",
            ":C a owl:Class",
            ":C rdfs:subClassOf :C",
            ":C a owl:Class . :D a owl:Class",
            ":C rdfs:subClassOf :D",
        ),
        derives("scm-cls", ":C a owl:Class", ":C owl:equivalentClass :C", ":C a owl:Thing"),
        derives(
            "scm-sco",
            ":A rdfs:subClassOf :B . :B rdfs:subClassOf :C",
            ":A rdfs:subClassOf :C",
            ":A rdfs:subClassOf :B . :C rdfs:subClassOf :B",
        ),
        derives("scm-eqc1", ":A owl:equivalentClass :B", ":A rdfs:subClassOf :B", ":A owl:disjointWith :B"),
        derives("scm-eqc1", ":A owl:equivalentClass :B", ":B rdfs:subClassOf :A", ":A rdfs:subClassOf :B"),
        derives(
            "scm-eqc2",
            ":A rdfs:subClassOf :B . :B rdfs:subClassOf :A",
            ":A owl:equivalentClass :B",
            ":A rdfs:subClassOf :B . :B rdfs:subClassOf :C",
        ),
        derives("dt-type1", "", "xsd:unsignedByte a rdfs:Datatype", "", "xsd:duration a rdfs:Datatype"),
        derives("scm-op", ":p a owl:ObjectProperty", ":p rdfs:subPropertyOf :p", ":p a rdf:Property"),
        derives("scm-op", ":p a owl:ObjectProperty", ":p owl:equivalentProperty :p", ":x :p :y"),
        derives("scm-dp", ":p a owl:DatatypeProperty", ":p rdfs:subPropertyOf :p", ":p a owl:AnnotationProperty"),
        derives("scm-dp", ":p a owl:DatatypeProperty", ":p owl:equivalentProperty :p", ":x :p 1"),
        derives(
            "scm-spo",
            ":p rdfs:subPropertyOf :q . :q rdfs:subPropertyOf :r",
            ":p rdfs:subPropertyOf :r",
            ":p rdfs:subPropertyOf :q . :r rdfs:subPropertyOf :q",
        ),
        derives("scm-eqp1", ":p owl:equivalentProperty :q", ":p rdfs:subPropertyOf :q", ":p owl:inverseOf :q"),
        derives("scm-eqp1", ":p owl:equivalentProperty :q", ":q rdfs:subPropertyOf :p", ":p rdfs:subPropertyOf :q"),
        derives(
            "scm-eqp2",
            ":p rdfs:subPropertyOf :q . :q rdfs:subPropertyOf :p",
            ":p owl:equivalentProperty :q",
            ":p rdfs:subPropertyOf :q . :q rdfs:subPropertyOf :r",
        ),
        derives(
            "scm-dom1",
            ":p rdfs:domain :A . :A rdfs:subClassOf :B",
            ":p rdfs:domain :B",
            ":p rdfs:domain :A . :B rdfs:subClassOf :A",
        ),
        derives(
            "scm-dom2",
            ":q rdfs:domain :C . :p rdfs:subPropertyOf :q",
            ":p rdfs:domain :C",
            ":q rdfs:domain :C . :q rdfs:subPropertyOf :p",
        ),
        derives(
            "scm-rng1",
            ":p rdfs:range :A . :A rdfs:subClassOf :B",
            ":p rdfs:range :B",
            ":p rdfs:range :A . :B rdfs:subClassOf :A",
        ),
        derives(
            "scm-rng2",
            ":q rdfs:range :C . :p rdfs:subPropertyOf :q",
            ":p rdfs:range :C",
            ":q rdfs:range :C . :q rdfs:subPropertyOf :p",
        ),
        derives(
            "scm-hv",
            ":p rdfs:subPropertyOf :q . :A owl:hasValue 1 ; owl:onProperty :p . :B owl:hasValue 1 ; owl:onProperty :q",
            ":A rdfs:subClassOf :B",
            ":p rdfs:subPropertyOf :q . :A owl:hasValue 1 ; owl:onProperty :p . :B owl:hasValue 2 ; owl:onProperty :q",
        ),
        derives(
            "scm-svf1",
            ":A owl:someValuesFrom :C ; owl:onProperty :p . :B owl:someValuesFrom :D ; owl:onProperty :p ."
            " :C rdfs:subClassOf :D",
            ":A rdfs:subClassOf :B",
            ":A owl:someValuesFrom :C ; owl:onProperty :p . :B owl:someValuesFrom :D ; owl:onProperty :q ."
            " :C rdfs:subClassOf :D",
        ),
        derives(
            "scm-svf2",
            ":A owl:someValuesFrom :C ; owl:onProperty :p . :B owl:someValuesFrom :C ; owl:onProperty :q ."
            " :p rdfs:subPropertyOf :q",
            ":A rdfs:subClassOf :B",
            ":A owl:someValuesFrom :C ; owl:onProperty :p . :B owl:someValuesFrom :C ; owl:onProperty :q ."
            " :q rdfs:subPropertyOf :p",
        ),
        derives(
            "scm-avf1",
            ":A owl:allValuesFrom :C ; owl:onProperty :p . :B owl:allValuesFrom :D ; owl:onProperty :p ."
            " :C rdfs:subClassOf :D",
            ":A rdfs:subClassOf :B",
            ":A owl:allValuesFrom :C ; owl:onProperty :p . :B owl:allValuesFrom :D ; owl:onProperty :p ."
            " :D rdfs:subClassOf :C",
        ),
        derives(
            "scm-avf2",
            ":A owl:allValuesFrom :C ; owl:onProperty :p . :B owl:allValuesFrom :C ; owl:onProperty :q ."
            " :p rdfs:subPropertyOf :q",
            ":B rdfs:subClassOf :A",
            ":A owl:allValuesFrom :C ; owl:onProperty :p . :B owl:allValuesFrom :C ; owl:onProperty :q ."
            " :q rdfs:subPropertyOf :p",
        ),
        derives(
            "scm-int",
            ":C owl:intersectionOf (:A :B)",
            ":C rdfs:subClassOf :B",
            ":C owl:intersectionOf (:A :B)",
            ":B rdfs:subClassOf :C",
        ),
        derives(
            "scm-uni",
            ":C owl:unionOf (:A :B)",
            ":B rdfs:subClassOf :C",
            ":C owl:unionOf (:A :B)",
            ":C rdfs:subClassOf :B",
        ),
    )
)

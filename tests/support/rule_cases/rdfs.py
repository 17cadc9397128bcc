"""Cases for the rules of rulesets/rdfs.dlog and rdfs_axiomatic.dlog, in their order."""

from tests.support.rule_cases import derives, numbered

CASES = numbered(
    (
        derives("rdfD2", ":x :p :y", ":p a rdf:Property", ":p :x :y"),
        derives("rdfs2", ":p rdfs:domain :C . :x :p :y", ":x a :C", ":p rdfs:domain :C . :y :p :x"),
        derives("rdfs3", ":p rdfs:range :C . :x :p :y", ":y a :C", ":p rdfs:range :C . :y :p :x"),
        derives(
            "rdfs4a",
            "rdfs:Resource rdfs:subClassOf :C . :x :p :y",
            ":x a rdfs:Resource",
            ":C rdfs:subClassOf rdfs:Resource . :x :p :y",
            ":x a :C",
        ),
        derives(
            "rdfs4a", "rdf:type rdfs:domain :C . :x :p :y", ":x a rdfs:Resource", ":C rdfs:domain rdf:type", ":C a :C"
        ),
        derives(
            "rdfs4a",
            "rdf:type rdfs:subPropertyOf :q . :x :p :y",
            ":x a rdfs:Resource",
            ":q rdfs:subPropertyOf rdf:type . :x :p :y",
            ":x :q rdfs:Resource",
        ),
        derives("rdfs4a", "rdf:type rdfs:range :C", "rdfs:Resource a :C", ":p rdfs:range :C", "rdfs:Resource a :C"),
        derives(
            "rdfs4b",
            "rdfs:Resource rdfs:subClassOf :C . :x :p :y",
            ":y a rdfs:Resource",
            ":C rdfs:subClassOf rdfs:Resource . :x :p :y",
            ":y a :C",
        ),
        derives(
            "rdfs4b", "rdf:type rdfs:domain :C . :x :p :y", ":y a rdfs:Resource", ":C rdfs:domain rdf:type", ":C a :C"
        ),
        derives(
            "rdfs4b",
            "rdf:type rdfs:subPropertyOf :q . :x :p :y",
            ":y a rdfs:Resource",
            ":q rdfs:subPropertyOf rdf:type . :x :p :y",
            ":y :q rdfs:Resource",
        ),
        derives(
            "rdfs5",
            ":p rdfs:subPropertyOf :q . :q rdfs:subPropertyOf :r",
            ":p rdfs:subPropertyOf :r",
            ":p rdfs:subPropertyOf :q . :r rdfs:subPropertyOf :q",
        ),
        derives("rdfs6", ":p a rdf:Property", ":p rdfs:subPropertyOf :p", ":p a rdfs:Class"),
        derives("rdfs7", ":p rdfs:subPropertyOf :q . :x :p :y", ":x :q :y", ":q rdfs:subPropertyOf :p . :x :p :y"),
        derives("rdfs8", ":C a rdfs:Class", ":C rdfs:subClassOf rdfs:Resource", ":x a :C"),
        derives("rdfs9", ":A rdfs:subClassOf :B . :x a :A", ":x a :B", ":B rdfs:subClassOf :A . :x a :A"),
        derives("rdfs10", ":C a rdfs:Class", ":C rdfs:subClassOf :C", ":C a rdf:Property"),
        derives(
            "rdfs11",
            ":A rdfs:subClassOf :B . :B rdfs:subClassOf :C",
            ":A rdfs:subClassOf :C",
            ":A rdfs:subClassOf :B . :C rdfs:subClassOf :B",
        ),
        derives(
            "rdfs12",
            ":p a rdfs:ContainerMembershipProperty",
            ":p rdfs:subPropertyOf rdfs:member",
            ":p a rdf:Property",
        ),
        derives("rdfs13", ":D a rdfs:Datatype", ":D rdfs:subClassOf rdfs:Literal", ":D a rdfs:Class"),
    )
)

AXIOMATIC = numbered(
    (
        derives("rdf-axioms", "", "rdf:first a rdf:Property", "", "rdf:nil a rdf:Property"),
        derives(
            "rdf-axioms-n",
            "rdf:_12 a rdf:Property",
            "rdf:_12 a rdfs:ContainerMembershipProperty",
            "rdf:_0 a rdf:Property",
            "rdf:_0 a rdfs:ContainerMembershipProperty",
        ),
        derives("rdfs-axioms", "", "rdf:type rdfs:range rdfs:Class", "", "rdf:type rdfs:domain rdfs:Class"),
    )
)

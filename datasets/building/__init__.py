"""Buildings described with an ontology in the manner of Brick: classes that are defined by their tags."""

"""A tree of classes with intersections and instances: an ontology that is large itself."""

// What a drawing shows otherwise than by edges: labels as the names of nodes, classes as colours, equals as one node.
import { isResource, key } from "./terms.js";

const RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
const RDFS = "http://www.w3.org/2000/01/rdf-schema#";
const OWL = "http://www.w3.org/2002/07/owl#";
/** From the one that is preferred. */
const LABELS = ["http://www.w3.org/2004/02/skos/core#prefLabel", `${RDFS}label`, "http://xmlns.com/foaf/0.1/name",
  "https://schema.org/name", "http://schema.org/name", "http://purl.org/dc/terms/title"];
const DULL = new Set([`${OWL}Thing`, `${OWL}NamedIndividual`, `${RDFS}Resource`]);

/** Classes that have a colour. */
const COLOURS = 6;

/** Triples as { edges, ends, classes }: the triples that are edges, what is known of their ends (`ends.of(term)`, also of
    those without an edge, `ends.all`), and the classes that have a colour. Where nothing would be left, all are edges. */
export function folded(triples) {
  const same = new Map();
  const found = (id) => {
    let last = id;
    while (same.has(last)) last = same.get(last);
    return last;
  };
  const known = new Map();
  const of = (term) => {
    const id = found(key(term));
    if (!known.has(id)) known.set(id, { id, term, names: [], label: null, rank: Infinity, classes: new Set(), colour: -1 });
    return known.get(id);
  };
  const resources = ([s, , o]) => isResource(s) && isResource(o);
  const equal = (triple) => triple[1].value === `${OWL}sameAs` && resources(triple);
  const rank = ([s, p, o]) => (isResource(s) && o.type === "literal" ? LABELS.indexOf(p.value) : -1);
  const typed = (triple) => triple[1].value === `${RDF}type` && resources(triple);
  const edges = triples.filter((triple) => !equal(triple) && !typed(triple) && rank(triple) < 0);

  if (!edges.length) return { edges: triples, ends: { of: (term) => ({ ...of(term), names: [term] }), all: [] }, classes: [] };
  for (const [s, , o] of triples.filter(equal)) {
    const [left, right] = [found(key(s)), found(key(o))];
    if (left !== right) same.set(right, left);
  }
  for (const term of triples.flatMap(([s, , o]) => [s, o]).filter(isResource)) {
    if (edges.some((triple) => triple.includes(term)) || triples.some((triple) => triple[0] === term || (equal(triple) && triple[2] === term))) {
      const { names } = of(term);
      if (!names.some((name) => key(name) === key(term))) names.push(term);
    }
  }
  for (const triple of triples) {
    const [s, , o] = triple;
    const order = 2 * rank(triple) + (matches(o["xml:lang"]) ? 0 : 1);
    if (rank(triple) >= 0 && order < of(s).rank) Object.assign(of(s), { rank: order, label: o.value });
    if (typed(triple) && !DULL.has(o.value)) of(s).classes.add(key(o));
  }
  return { edges, ends: { of, all: [...known.values()] }, classes: coloured([...known.values()], triples.filter(typed)) };
}

/** Whether a literal is in a language of the reader, or in none. */
const matches = (lang) => !lang || navigator.languages.some((own) => own.split("-")[0].toLowerCase() === lang.split("-")[0]);

/** Give ends the colours of their classes: of each the smallest that it shares; the classes, as terms, in the order of
    their colours. */
function coloured(ends, typed) {
  const sizes = new Map();
  for (const { classes } of ends) for (const one of classes) sizes.set(one, (sizes.get(one) ?? 0) + 1);
  const chosen = new Map();
  for (const end of ends) {
    const order = [...end.classes].sort((a, b) => (sizes.get(a) < 2) - (sizes.get(b) < 2) || sizes.get(a) - sizes.get(b));
    if (order.length) chosen.set(end, order[0]);
  }
  const counts = new Map();
  for (const one of chosen.values()) counts.set(one, (counts.get(one) ?? 0) + 1);
  const shown = [...counts].sort((a, b) => b[1] - a[1]).slice(0, COLOURS).map(([one]) => one);
  for (const [end, one] of chosen) end.colour = shown.indexOf(one);
  return shown.map((one) => typed.find(([, , o]) => key(o) === one)[2]);
}

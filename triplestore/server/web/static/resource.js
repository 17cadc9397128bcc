// A resource: its asserted and its inferred facts, apart; its equals; and the facts that mention it.
import { json } from "./api.js";
import { h, number, plural } from "./dom.js";
import { why } from "./proof.js";
import { cut, expand, key, meet, show } from "./terms.js";

const TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
const SAME = "http://www.w3.org/2002/07/owl#sameAs";
const LABELS = ["prefLabel", "label", "name", "title"]; // local names of properties whose values name things

export async function resource(parameters) {
  const wanted = expand(parameters.get("term") ?? "");
  const found = await json(`api/resource?term=${encodeURIComponent(wanted)}`);
  const terms = [...found.asserted, ...found.inferred, ...found.asserted_incoming, ...found.inferred_incoming].flat();
  const graphs = [...found.graphs.asserted, ...found.graphs.asserted_incoming].flat().filter(Boolean);
  [found.term, ...found.equals, ...terms, ...graphs].forEach((term) => term.type === "uri" && meet(term.value));
  const facts = [...found.asserted, ...found.inferred];
  const named = (local) => facts.find(([p, o]) => o.type === "literal" && p.value.split(/[/#:]/).pop() === local);
  const label = LABELS.map((local) => named(local)?.[1].value).find(Boolean);
  const types = facts.filter(([p]) => p.value === TYPE).map(([, o]) => o);
  const name = cut(found.term.value)?.[1] ?? key(found.term);
  document.title = `${label ?? name} · Triplake`;
  const nothing = !terms.length && !found.equals.length;
  return [
    h("header", { class: "resource-head" },
      h("h1", {}, label ?? name),
      h("p", { class: "iri" }, h("code", {}, key(found.term)),
        h("button", { type: "button", class: "link", onclick: (event) => {
          navigator.clipboard?.writeText(key(found.term));
          event.target.textContent = "copied";
        } }, "copy")),
      types.length ? h("p", { class: "chips", "aria-label": "Types" }, types.slice(0, 12).map((type) => h("span", { class: "chip" }, show(type)))) : null),
    nothing ? h("p", { class: "empty" }, "The store has no facts about it.") : null,
    found.equals.length ? equals(found) : null,
    part("Asserted", "loaded or added", "asserted", groups(found.asserted, found.graphs.asserted), found),
    part("Inferred", "derived by the rules", "inferred", groups(found.inferred), found),
    part("Mentioned", "in asserted facts about others", "asserted", incoming(found.asserted_incoming, found.graphs.asserted_incoming), found, true),
    part("Mentioned by inference", "in inferred facts about others", "inferred", incoming(found.inferred_incoming), found, true),
    found.more.length ? h("p", { class: "note" }, "Only the first facts of each kind are shown. Use a query to see all of them.") : null,
  ].filter(Boolean);
}

/** How many there are; where only the first are shown, that there are more. */
const counted = (count, cut, ...words) => (cut ? `more than ${number(count)} ${words[1] ?? `${words[0]}s`}` : plural(count, ...words));

function equals({ term, equals: others, more }) {
  return h("section", { class: "card equals" },
    h("h2", {}, "Equal to ", h("small", {}, counted(others.length, more.includes("equals"), "other name"))),
    h("ul", { class: "chips" }, others.map((other) => h("li", { class: "chip equal" }, h("span", { "aria-hidden": "true" }, "="), show(other),
      asks([term, { type: "uri", value: SAME }, other])))));
}

/** Predicates, objects and (of asserted facts) the graphs they are in, by predicate; types first. */
function groups(facts, graphs = []) {
  const found = new Map();
  facts.forEach(([p, o], at) => found.set(p.value, [...(found.get(p.value) ?? []), [p, o, graphs[at] ?? []]]));
  return [...found].sort(([a], [b]) => (b === TYPE) - (a === TYPE) || (a < b ? -1 : 1)).map(([, pairs]) => pairs);
}

function incoming(facts, graphs) {
  return groups(facts.map(([s, p]) => [p, s]), graphs);
}

/** Where a fact was asserted: the graphs that have a name. */
function source(graphs) {
  const named = graphs.filter(Boolean);
  if (!named.length) return null;
  return h("span", { class: "source" }, " in ", named.length < graphs.length ? "the unnamed graph, " : null, named.flatMap((graph, at) => [at ? ", " : null, show(graph)]));
}

function part(title, hint, kind, pairs, { term, more }, inverse = false) {
  if (!pairs.length) return null;
  const count = pairs.reduce((sum, group) => sum + group.length, 0);
  return h("section", { class: `card facts ${kind}` },
    h("h2", {}, title, " ", h("small", {}, `${hint} · ${counted(count, more.includes(inverse ? `${kind}_incoming` : kind), "fact")}`)),
    h("dl", {}, pairs.flatMap((group) => [
      h("dt", {}, inverse ? h("span", { class: "inverse" }, "is ") : null, show(group[0][0]), inverse ? h("span", { class: "inverse" }, " of") : null),
      h("dd", {}, h("ul", {}, group.map(([p, other, graphs]) => h("li", {}, show(other), source(graphs),
        kind === "inferred" ? asks(inverse ? [other, p, term] : [term, p, other]) : null)))),
    ])));
}

/** The button that opens a proof. */
function asks(triple) {
  return h("button", { type: "button", class: "why", onclick: () => why(triple), "aria-label": "Why does this hold?" }, "why?");
}

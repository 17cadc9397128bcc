// Terms as people read them: short names, links, literals with their language or datatype.
import { h } from "./dom.js";
import { json } from "./api.js";

const SPLIT = /^(.*[/#:])([^/#:]*)$/s;
const LOCAL = /^[A-Za-z0-9_](?:[\w.-]*[\w-])?$/;

/** What is known of the store's words; see `load`. */
export const words = { prefixes: {}, spaces: new Map(), classes: [], properties: [] };

/** Fetch prefixes, classes and properties; namespaces in use without a prefix get one made of their last part. */
export async function load() {
  const found = await json("api/vocabulary");
  words.classes = found.classes.filter(({ term }) => term.type === "uri");
  words.properties = found.properties.filter(({ term }) => term.type === "uri");
  words.prefixes = { ...found.prefixes };
  words.spaces = new Map(Object.entries(words.prefixes).reverse().map(([prefix, space]) => [space, prefix]));
  for (const { term } of [...words.classes, ...words.properties]) name(term.value.match(SPLIT)?.[1]);
}

function name(space) {
  if (!space || words.spaces.has(space)) return;
  const parts = space.replace(/^\w+:\/\//, "").split(/[^A-Za-z]+/).filter((part) => part.length > 1);
  const dull = new Set(["www", "com", "org", "net", "owl", "rdf", "ontology", "vocabulary", "ns", "example"]);
  const base = ((parts.filter((part) => !dull.has(part)).pop() ?? parts.pop() ?? "ns").toLowerCase()).slice(0, 16);
  let prefix = base;
  for (let i = 2; prefix in words.prefixes; i++) prefix = base + i;
  words.prefixes[prefix] = space;
  words.spaces.set(space, prefix);
}

/** Give a namespace met in an answer a prefix too, so that long names become short. */
export const meet = (iri) => name(iri.match(SPLIT)?.[1]);

/** [prefix, local name] of an IRI, or null where it has no short form. */
export function cut(iri) {
  const [, space, local] = iri.match(SPLIT) ?? [];
  const prefix = words.spaces.get(space);
  return prefix !== undefined && LOCAL.test(local) ? [prefix, local] : null;
}

/** Words of the languages of ontologies after those of what they speak of; both in their order. */
export const ownFirst = (found) => {
  const common = ({ term }) => ["rdf", "rdfs", "owl", "xsd"].includes(cut(term.value)?.[0]) || term.type !== "uri";
  return [...found.filter((word) => !common(word)), ...found.filter(common)];
};

export const short = (iri) => cut(iri)?.join(":") ?? `<${iri}>`;

/** What a person's text names, for the server: <iri>, prefix:name with a prefix of the page's, a blank node; or as it is. */
export function expand(text) {
  const trimmed = text.trim();
  const [, prefix, local] = trimmed.match(/^([\w-]*):(?!\/\/)(.*)$/) ?? [];
  return prefix !== undefined && Object.hasOwn(words.prefixes, prefix) ? `<${words.prefixes[prefix]}${local}>` : trimmed;
}

/** Whether a person's text names a resource; else it is words to search for. */
export const names = (text) => /^(<.*>|[\w-]*:\S*)$/.test(text.trim());

export const key = (term) => (term.type === "uri" ? term.value : `_:${term.value}`);

export const link = (term) => `#/resource?term=${encodeURIComponent(term.type === "uri" ? `<${term.value}>` : key(term))}`;

/** Whether a term is a resource, which has a page; else it is a literal or a triple term. */
export const isResource = (term) => term.type === "uri" || term.type === "bnode";

/** The terms of a triple term. */
export const inner = ({ value }) => [value.subject, value.predicate, value.object];

/** The language tag of a literal, with its base direction. */
export const tag = (term) => term["xml:lang"] && [term["xml:lang"], term["its:dir"]].filter(Boolean).join("--");

/** A term in one line, without markup. */
export function plain(term) {
  if (!term) return "";
  if (term.type === "triple") return `<<( ${inner(term).map(plain).join(" ")} )>>`;
  if (term.type === "uri") return short(term.value);
  return term.type === "bnode" ? `_:${term.value}` : term.value;
}

/** A term as an element. */
export function show(term) {
  if (!term) return h("span", { class: "unbound", "aria-label": "unbound" }, "·");
  if (term.type === "triple") return h("span", { class: "literal" }, "<<( ", ...inner(term).flatMap((part) => [show(part), " "]), ")>>");
  if (term.type === "literal") {
    const lang = term["xml:lang"];
    const numeric = term.datatype && /#(integer|decimal|double|float|int|long|short|byte|\w+Integer)$/.test(term.datatype);
    const mark = tag(term) ?? (term.datatype && !numeric ? short(term.datatype).replace(/^xsd:/, "") : null);
    return h(
      "span",
      { class: `literal${numeric ? " numeric" : ""}`, title: term.datatype ?? undefined, lang, dir: term["its:dir"] },
      h("span", { class: "text" }, term.value),
      mark ? h("sup", {}, mark) : null,
    );
  }
  const parts = term.type === "uri" ? cut(term.value) : null;
  const text = parts
    ? [h("span", { class: "prefix" }, `${parts[0]}:`), parts[1]]
    : [term.type === "uri" ? term.value : `_:${term.value}`];
  return h("a", { class: `term ${term.type}`, href: link(term), title: term.value }, ...text);
}


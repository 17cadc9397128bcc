// What a version changed: triples added and removed, asserted and inferred apart.
import { json, terms } from "./api.js";
import { h, number, plural } from "./dom.js";
import { meet, show } from "./terms.js";

const KINDS = {
  asserted: "Asserted", inferred: "Inferred", equal: "Equal terms", quads: "In named graphs",
};

export async function changes(parameters) {
  const wanted = parameters.get("version") ?? "";
  const found = await json(`api/changes?version=${encodeURIComponent(wanted)}`);
  const rows = Object.entries(found.kinds).flatMap(([kind, signs]) => Object.entries(signs).map(([sign, part]) => ({ kind, sign, ...part })));
  return [
    h("section", { class: "resource-head" },
      h("h1", {}, `Version ${number(found.version)}`),
      h("p", { class: "note" }, h("time", { datetime: found.created }, new Date(found.created).toLocaleString()),
        ` · ${found.operation} · ${found.before === null ? "nothing to compare it with" : `compared with version ${number(found.before)}`}`),
      h("p", { class: "choices" }, step(found.before, "← Previous version"), step(found.after, "Next version →"))),
    ...rows.filter(({ count }) => count).map(part),
    rows.some(({ count }) => count) ? null : h("p", { class: "empty" }, "This version added and removed no triples."),
  ].filter(Boolean);
}

const step = (version, text) => version !== null ? h("a", { href: `#/changes?version=${version}` }, text, " ") : null;

function part({ kind, sign, count, lines }) {
  const title = `${KINDS[kind] ?? kind}, ${sign}`;
  const triples = lines.map((line) => terms(line));
  triples.flat().forEach((term) => term.type === "uri" && meet(term.value));
  return h("section", { class: `card facts ${kind === "asserted" || kind === "quads" ? "" : "inferred"}` },
    h("h2", {}, `${title} `, h("small", {}, plural(count, "triple"))),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title },
      h("table", { class: `changes ${sign}` }, h("tbody", {}, triples.map((triple) =>
        h("tr", {}, h("td", { class: "sign", "aria-hidden": "true" }, sign === "added" ? "+" : "−"), triple.map((term) => h("td", {}, show(term)))))))),
    count > lines.length ? h("p", { class: "note" }, `The first ${number(lines.length)} of ${number(count)}.`) : null);
}

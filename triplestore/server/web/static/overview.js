// The store at a glance.
import { json } from "./api.js";
import { h, number, plural } from "./dom.js";
import { whyNot } from "./proof.js";
import { thingsOf } from "./sparql.js";
import { meet, ownFirst, short, show } from "./terms.js";

const bytes = (count) => {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  for (; count >= 1024 && at < units.length - 1; at++) count /= 1024;
  return `${count < 10 && at ? count.toFixed(1) : Math.round(count)} ${units[at]}`;
};

export async function overview() {
  const { stats, classes, properties, equality, versions, violations } = await json("api/overview");
  [...classes, ...properties].forEach(({ term }) => term.type === "uri" && meet(term.value));
  equality.flatMap(({ members }) => members).forEach((term) => term.type === "uri" && meet(term.value));
  const tiles = [
    ["Asserted", stats.asserted, "triples loaded or added"],
    ["Stored facts", stats.facts, "in the closure, equal terms stored once"],
    ["Inferred", stats.inferred, "triples of the closure that were not asserted"],
    ["Closure", stats.expanded, "triples that queries see, every equal term spelled out"],
    ["Equal terms", stats.classes, stats.classes ? `${stats.classes === 1 ? "class" : "classes"} of equals; the largest has ${number(stats.largest_class)} members` : "classes of equals"],
    ["Inconsistencies", violations.count, violations.count ? "see below" : "consistent", violations.count ? "bad" : "good"],
  ];
  return [
    h("h1", { class: "visually-hidden" }, "Overview"),
    h("section", { class: "tiles", "aria-label": "Counts" }, tiles.map(([name, count, hint, mood]) =>
      h("div", { class: `tile ${mood ?? ""}` }, h("span", { class: "name" }, name), h("span", { class: "figure" }, number(count)), h("span", { class: "hint" }, hint)))),
    h("p", { class: "note" }, `Rules: ${stats.ruleset.join(", ") || "none"} · equality: ${stats.equality} · ${plural(stats.terms, "term")} · ${bytes(stats.bytes)} on disk`),
    stats.classes ? h("p", { class: "note" }, "The counts below take equal terms as one thing. A query counts each of them, unless you choose “one term for all equals” beside the editor.") : null,
    violations.count ? inconsistencies(violations) : null,
    h("div", { class: "columns" }, bars("Classes", ownFirst(classes), "thing", thingsOf,
      h("small", {}, h("a", { href: "#/classes" }, "as a hierarchy"))),
      bars("Properties", ownFirst(properties), "fact", (iri) => `SELECT ?subject ?object WHERE {\n  ?subject <${iri}> ?object\n}\nLIMIT 100\n`)),
    equality.length ? equals(equality) : null,
    history(versions),
  ].filter(Boolean);
}

function bars(title, words, unit, query, more) {
  const most = Math.max(...words.map(({ count }) => count), 1);
  return h("section", { class: "card" }, h("h2", {}, title, more),
    words.length ? h("table", { class: "bars" }, h("thead", { class: "visually-hidden" }, h("tr", {}, h("th", {}, title), h("th", {}, `${unit}s`))), h("tbody", {}, words.map(({ term, count }) => {
      const bar = h("span", { class: "bar-fill" });
      bar.style.width = `calc(${Math.max(0.01, count / most)} * (100% - 5rem))`; // the number has its place beside it
      return h("tr", {}, h("th", { scope: "row" }, show(term)), h("td", {},
        h("a", { href: `#/query?query=${encodeURIComponent(query(term.value))}`, class: "count-link", title: `Ask for ${short(term.value)}`,
          "aria-label": `${plural(count, unit)}: ask for ${short(term.value)}` },
          bar, h("span", { class: "bar-count" }, number(count)))));
    }))) : h("p", { class: "empty" }, "None."));
}

function equals(equality) {
  return h("section", { class: "card" }, h("h2", {}, "Largest classes of equals"),
    h("ol", { class: "classes" }, equality.map(({ size, members }) => h("li", {}, h("span", { class: "size" }, number(size)),
      h("span", { class: "chips" }, members.slice(0, 8).map((term) => h("span", { class: "chip" }, show(term))),
        size > 8 ? h("span", { class: "note" }, `and ${number(size - 8)} more`) : null)))));
}

function inconsistencies({ count, rules, first }) {
  const numbers = new Map();
  const nth = (rule) => numbers.set(rule, (numbers.get(rule) ?? 0) + 1).get(rule);
  return h("section", { class: "card bad" }, h("h2", {}, plural(count, "inconsistency", "inconsistencies")),
    h("p", { class: "note" }, Object.entries(rules).map(([rule, times]) => `${rule}: ${number(times)}`).join(" · ")),
    h("ul", { class: "violations" }, first.map(({ rule, triples, because }) => {
      const place = nth(rule);
      return h("li", {}, h("span", { class: "by" }, rule),
        h("button", { type: "button", class: "why", onclick: () => whyNot(rule, place), "aria-label": "Why is this inconsistent?" }, "why?"),
        h("ul", {}, triples.map((triple) => statement(triple)), because.map((triple) => statement(triple, "because "))));
    })));
}

const statement = (triple, before) => h("li", {}, before ? h("span", { class: "note" }, before) : null, triple.flatMap((term) => [show(term), " "]));

function history(versions) {
  return h("section", { class: "card" }, h("h2", {}, "Versions"),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Versions" }, h("table", { class: "versions" },
      h("thead", {}, h("tr", {}, ["Version", "When", "What", "Algorithm", "Asserted", "Facts", "Added", "Deleted", "Seconds"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, versions.map((v) => h("tr", {}, h("td", {}, h("a", { href: `#/changes?version=${v.version}`, "aria-label": `What version ${v.version} changed` }, number(v.version))),
        h("td", {}, h("time", { datetime: v.created }, new Date(v.created).toLocaleString())), h("td", {}, v.operation ?? ""), h("td", {}, v.algorithm ?? ""),
        [v.asserted, v.facts, v.added ?? 0, v.deleted ?? 0].map((count) => h("td", { class: "numeric" }, number(count))),
        h("td", { class: "numeric" }, (v.seconds ?? 0).toFixed(2))))))));
}

// The graphs of the store with their sizes; what dropping one would change, and dropping it.
import { json, update } from "./api.js";
import { dialog, fault, h, number, plural, say } from "./dom.js";
import { parting } from "./effects.js";
import { meet, short, show } from "./terms.js";
import { upload } from "./upload.js";

export async function graphs() {
  const [found, { read_only: readOnly }] = await Promise.all([json("api/graphs"), json("health")]);
  found.graphs.forEach(({ graph }) => graph.type === "uri" && meet(graph.value));
  const hint = found.default_graph === "union" ? "Queries that name no graph read all graphs." : "Queries that name no graph read only the unnamed graph.";
  return [
    h("h1", { class: "visually-hidden" }, "Graphs"),
    h("section", { class: "card" },
      h("h2", {}, "Graphs ", h("small", {}, plural(found.count, "named graph"))),
      h("p", { class: "note" }, `${hint} Only asserted triples are counted.`),
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Graphs" }, h("table", { class: "graphs" },
        h("thead", {}, h("tr", {}, ["Graph", "Triples"].map((name) => h("th", { scope: "col" }, name)), h("td", {}))),
        h("tbody", {}, line(h("span", { class: "note" }, "unnamed"), number(found.unnamed)),
          found.graphs.map((named) => line(show(named.graph), size(named), readOnly || named.graph.type !== "uri" ? null : drop(named.graph.value)))))),
      found.count > found.graphs.length ? h("p", { class: "note" }, `Only the ${number(found.graphs.length)} largest are listed.`) : null),
    readOnly ? null : upload(),
  ].filter(Boolean);
}

const line = (graph, triples, button) => h("tr", {}, h("th", { scope: "row" }, graph), h("td", { class: "numeric" }, triples), h("td", {}, button));

/** The size of a graph; of one that queries can name, with a link to its triples. */
function size({ graph, triples }) {
  if (graph.type !== "uri") return number(triples);
  const query = `SELECT ?subject ?predicate ?object WHERE {\n  GRAPH <${graph.value}> {\n    ?subject ?predicate ?object\n  }\n}\nLIMIT 100\n`;
  return h("a", { href: `#/query?query=${encodeURIComponent(query)}`, "aria-label": `${plural(triples, "triple")}: ask for those of ${short(graph.value)}` }, number(triples));
}

const drop = (graph) => h("button", { type: "button", class: "link", "aria-label": `Drop ${short(graph)}`, onclick: () => confirm(graph) }, "drop");

/** Show what dropping a graph would change, then ask for confirmation. */
async function confirm(graph) {
  const text = `DROP GRAPH <${graph}>`;
  const body = h("div", { class: "sign-in" }, h("p", { class: "waiting" }, "Finding out what would change …"));
  const asked = dialog("Drop this graph?", body);
  const run = async () => {
    try {
      const { version } = await update(text);
      asked.close();
      say(`Version ${version}`);
      dispatchEvent(new Event("hashchange")); // the page is made again
    } catch (error) {
      body.replaceChildren(fault(error));
    }
  };
  try {
    body.replaceChildren(...told(graph, await update(text, true)), h("div", { class: "choices" },
      h("button", { type: "button", class: "primary danger", onclick: run }, "Drop it"),
      h("button", { type: "button", class: "secondary", autofocus: true, onclick: () => asked.close() }, "Cancel")));
    body.querySelector(".secondary").focus();
  } catch (error) {
    body.replaceChildren(fault(error));
  }
}

/** What a dry run says. */
function told(graph, { added, deleted, classes_merged: merged = 0, classes_split: split = 0, splits = [] }) {
  return [
    h("p", {}, h("strong", {}, short(graph)), ` would be dropped, and with it ${plural(deleted, "stored fact")} of the closure`, added ? `; ${plural(added, "other")} would be added.` : "."),
    ...parting(merged, split, splits),
  ];
}

// Links that may be wrong: ranked, with their evidence; the class as a drawing; cutting, with a preview and undo.
import { json, update } from "./api.js";
import { dialog, fault, h, number, plural, say } from "./dom.js";
import { effects } from "./effects.js";
import { drawing, edgesOf } from "./graph.js";
import { inner, link, meet, plain, show, tag } from "./terms.js";

const SAME = { type: "uri", value: "http://www.w3.org/2002/07/owl#sameAs" };

/** What was cut last, to be undone; it outlives the page that shows it, not the tab. */
let undoing = null;

export async function links() {
  const [{ found, more }, { read_only: readOnly }] = await Promise.all([json("api/suspects"), json("health")]);
  for (const suspect of found) for (const { type, value } of [suspect.left, suspect.right, ...suspect.on]) type === "uri" && meet(value);
  return [
    h("h1", { class: "visually-hidden" }, "Links"),
    undoing && !readOnly ? undo() : null,
    h("section", { class: "card" },
      h("h2", {}, "Links that may be wrong ", h("small", {}, found.length ? `${number(found.length)}${more ? " of more" : ""}` : "")),
      h("p", { class: "note" }, "Links that make two things one, the most doubtful first. Each bit doubles the odds that a link is wrong."),
      found.length ? h("ol", { class: "suspects" }, found.map((suspect) => line(suspect, readOnly)))
        : h("p", { class: "empty" }, "No asserted triple makes two things equal.")),
  ].filter(Boolean);
}

function line(suspect, readOnly) {
  const { left, right, by, on, members, parts, bits, reasons } = suspect;
  const where = `${by.join(", ")}${on.length ? " on " : ""}`;
  return h("li", {},
    h("p", { class: "pair" }, show(left), " = ", show(right), h("span", { class: `bits ${bits > 0 ? "bad" : ""}` }, `${bits.toFixed(1)} bits`)),
    h("p", { class: "note" }, where, on.flatMap((term) => [show(term), " "]), ` · in a class of ${plural(members, "equal thing")}`,
      parts ? ` · would split into ${number(parts[0])} and ${number(parts[1])}` : ""),
    h("ul", { class: "reasons" }, reasons.map((reason) => h("li", {}, h("span", { class: "bits" }, `${reason.bits > 0 ? "+" : ""}${reason.bits.toFixed(1)}`), " ", reason.text))),
    h("p", { class: "choices" },
      h("button", { type: "button", class: "secondary", onclick: () => whole(left), "aria-label": `Show the class of ${plain(left)}` }, "Show the class"),
      readOnly || !suspect.delete.length ? null : h("button", { type: "button", class: "secondary", onclick: () => cut(suspect), "aria-label": `Cut ${plain(left)} from ${plain(right)}` }, "Cut …")));
}

/** The class of a term, as a drawing in which bridges stand out. */
async function whole(term) {
  const body = h("div", { class: "whole" }, h("p", { class: "waiting" }, "Loading …"));
  dialog("Equal things", body);
  try {
    const found = await json(`api/class?term=${encodeURIComponent(written(term))}`);
    for (const { type, value } of found.members) type === "uri" && meet(value);
    const rows = found.joined.map(({ left, right, by }) => [left, by === "asserted" ? SAME : { type: "literal", value: by }, right]);
    const bridges = new Set(found.joined.filter(({ bridge }) => bridge).map(({ left, right }) => `${plain(left)} ${plain(right)}`));
    const triples = edgesOf({ kind: "graph", rows });
    const picture = triples?.length ? drawing(triples, ([left, , right]) => bridges.has(`${plain(left)} ${plain(right)}`)) : null;
    body.replaceChildren(
      h("p", {}, `${plural(found.size, "thing")}, joined by links: ${Object.entries(found.links).map(([rule, count]) => `${number(count)} ${rule}`).join(", ")}. `,
        h("strong", {}, plural(found.bridges, "bridge")), found.bridges ? " (drawn thick): cutting any one splits the class." : "."),
      ...[picture].flat().filter(Boolean),
      h("p", { class: "chips" }, found.members.map((member) => h("a", { class: "chip", href: link(member) }, plain(member)))));
  } catch (error) {
    body.replaceChildren(fault(error));
  }
}

const written = (term) => (term.type === "uri" ? `<${term.value}>` : term.type === "bnode" ? `_:${term.value}` : term.value);

/** A term as SPARQL writes it. */
function text(term) {
  if (term.type === "triple") return `<<( ${inner(term).map(text).join(" ")} )>>`;
  if (term.type !== "literal") return written(term);
  return `${JSON.stringify(term.value)}${tag(term) ? `@${tag(term)}` : term.datatype ? `^^<${term.datatype}>` : ""}`;
}

/** The update that deletes, or inserts, triples in their graphs. */
function changing(verb, quads) {
  const groups = quads.flatMap(({ triple, graphs }) => graphs.map((graph) => {
    const body = `${triple.map(text).join(" ")} .`;
    return graph ? `GRAPH <${graph.value}> { ${body} }` : body;
  }));
  return `${verb} DATA {\n  ${groups.join("\n  ")}\n}`;
}

/** Show what deleting a link would change, then ask for confirmation. */
async function cut(suspect) {
  const words = changing("DELETE", suspect.delete);
  const body = h("div", { class: "confirm" }, h("p", { class: "waiting" }, "Finding out what would change …"));
  const asked = dialog("Cut this link?", body);
  const run = async () => {
    try {
      const { version } = await update(words);
      undoing = { words: changing("INSERT", suspect.delete), name: `${plain(suspect.left)} = ${plain(suspect.right)}` };
      asked.close();
      say(`Cut, version ${version}`);
      dispatchEvent(new Event("hashchange"));
    } catch (error) {
      body.replaceChildren(fault(error));
    }
  };
  try {
    body.replaceChildren(
      h("p", {}, suspect.delete.length === 1 ? "This triple would be deleted:" : "These triples would be deleted:"),
      h("ul", { class: "doomed" }, suspect.delete.flatMap(({ triple, graphs }) => graphs.map((graph) =>
        h("li", {}, triple.flatMap((term) => [show(term), " "]), graph ? [" in ", show(graph)] : null)))),
      h("details", {}, h("summary", {}, "As SPARQL"), h("pre", {}, words)),
      ...effects(await update(words, true)),
      h("div", { class: "choices" },
        h("button", { type: "button", class: "primary danger", onclick: run }, "Cut it"),
        h("button", { type: "button", class: "secondary", onclick: () => asked.close() }, "Cancel")));
    body.querySelector(".choices .secondary").focus();
  } catch (error) {
    body.replaceChildren(fault(error));
  }
}

function undo() {
  const { words, name } = undoing;
  const run = async () => {
    try {
      const { version } = await update(words);
      undoing = null;
      say(`Undone, version ${version}`);
      dispatchEvent(new Event("hashchange"));
    } catch (error) {
      card.append(fault(error));
    }
  };
  const card = h("section", { class: "card" }, h("p", {}, "Cut: ", h("strong", {}, name), " ",
    h("button", { type: "button", class: "secondary", onclick: run }, "Undo")));
  return card;
}

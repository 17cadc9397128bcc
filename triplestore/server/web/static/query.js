// The query page: editor, what came of it, and what was asked before.
import * as api from "./api.js";
import { dialog, fault, h, keep, number, plural, say, stored } from "./dom.js";
import { editor } from "./editor.js";
import { drawing, edgesOf } from "./graph.js";
import { isUpdate, takesAway, undeclared } from "./sparql.js";
import { table } from "./table.js";
import { bar, tab, title, write } from "./tabs.js";

const MOST = 10_000;
const HISTORY = "triplake-history";
const START = "SELECT ?class (COUNT(?x) AS ?things) WHERE {\n  ?x a ?class\n}\nGROUP BY ?class\nORDER BY DESC(?things)\nLIMIT 50\n";
const EXAMPLES = {
  "Classes by size": START,
  "Some triples": "SELECT * WHERE {\n  ?subject ?predicate ?object\n}\nLIMIT 100\n",
  "Properties by use": "SELECT ?property (COUNT(*) AS ?facts) WHERE {\n  ?s ?property ?o\n}\nGROUP BY ?property\nORDER BY DESC(?facts)\n",
  "Equal terms": "PREFIX owl: <http://www.w3.org/2002/07/owl#>\nSELECT ?a ?b WHERE {\n  ?a owl:sameAs ?b\n  FILTER(STR(?a) < STR(?b))\n}\nLIMIT 100\n",
  "A graph": "CONSTRUCT { ?a ?p ?b } WHERE {\n  ?a ?p ?b\n  FILTER(isIRI(?b) && ?p != <http://www.w3.org/1999/02/22-rdf-syntax-ns#type>)\n}\nLIMIT 60\n",
  "Add a triple": "INSERT DATA {\n  <http://example.org/ada> <http://xmlns.com/foaf/0.1/name> \"Ada\"\n}\n",
};
const DOWNLOADS = {
  rows: { CSV: "text/csv", TSV: "text/tab-separated-values", JSON: "application/sparql-results+json", XML: "application/sparql-results+xml" },
  graph: { Turtle: "text/turtle", "N-Triples": "application/n-triples", "RDF/XML": "application/rdf+xml" },
};
const SUFFIXES = { CSV: "csv", TSV: "tsv", JSON: "srj", XML: "srx", Turtle: "ttl", "N-Triples": "nt", "RDF/XML": "rdf" };

/** Ask whether an update that takes much away shall run. */
function sure(what) {
  return new Promise((resolve) => {
    let yes = false;
    const form = h("form", { method: "dialog", class: "sign-in" },
      h("p", {}, h("strong", {}, what), " removes facts that the update does not name one by one."),
      h("p", { class: "note" }, "Earlier versions can still be read until vacuum removes them."),
      h("div", { class: "choices" },
        h("button", { class: "primary danger", onclick: () => { yes = true; } }, "Run it"),
        h("button", { class: "secondary", autofocus: true }, "Cancel")));
    dialog("Remove facts?", form).addEventListener("close", () => resolve(yes));
  });
}

const past = () => JSON.parse(stored(HISTORY) ?? "[]");

function remember(text) {
  const kept = [text, ...past().filter((other) => other !== text)].slice(0, 30);
  keep(HISTORY, JSON.stringify(kept));
}

const kept = new Map(); // pages as they were left, by their tab, or the query of a link: a step back finds the results

export async function queryPage(parameters) {
  const given = parameters.get("query");
  const id = given === null ? tab(Number(parameters.get("tab"))).id : null;
  const key = given ?? id;
  if (!kept.has(key)) kept.set(key, make(given, id));
  const [heading, ...rest] = kept.get(key);
  return [heading, bar(id, (gone) => kept.delete(gone)), ...rest];
}

/** A page. given: the query of a link, else null; id: the number of its tab, else null. */
function make(given, id) {
  const box = h("div", { class: "editor" });
  const results = h("section", { class: "results", "aria-label": "Results" });
  const button = h("button", { class: "primary run", type: "button", title: "Ctrl-Enter" }, h("span", { "aria-hidden": "true" }, "▶"), " Run");
  const sameAs = h("select", { "aria-label": "Equal terms" }, h("option", { value: "expand" }, "every equal term"), h("option", { value: "canonical" }, "one term for all equals"));
  const menu = h("select", { "aria-label": "Examples and history", class: "menu" });
  const plan = h("button", { class: "secondary", type: "button", title: "How the query is answered, with the rows of each step" }, "Explain");
  let running = null;
  let asking = false;

  async function asked(loss) {
    asking = true;
    try {
      return await sure(loss);
    } finally {
      asking = false;
    }
  }

  /** Run what may be stopped, with a clock on the button. */
  async function timed(work) {
    running = new AbortController();
    plan.disabled = true;
    const clock = h("span", { class: "clock" });
    const started = performance.now();
    const tick = () => { clock.textContent = ` ${Math.floor((performance.now() - started) / 1000)} s`; };
    const ticking = setInterval(tick, 1000);
    button.replaceChildren(h("span", { class: "spinner", "aria-hidden": "true" }), " Stop", clock);
    edit.mark(null);
    try {
      results.replaceChildren(...await work(running.signal, started));
      return true;
    } catch (error) {
      edit.mark(error);
      results.replaceChildren(error.name === "AbortError" ? h("p", { class: "note" }, "Stopped.") : fault(error));
      return false;
    } finally {
      clearInterval(ticking);
      running = null;
      plan.disabled = false;
      button.replaceChildren(h("span", { "aria-hidden": "true" }, "▶"), " Run");
    }
  }

  /** The text, with the PREFIX lines that it lacks. */
  function declared() {
    const missing = undeclared(edit.text());
    if (missing) edit.prepend(missing);
    return edit.text();
  }

  async function explain() {
    if (running) return;
    const text = declared();
    await timed(async (signal) => {
      const headers = { "Content-Type": "application/sparql-query", Accept: "text/plain" };
      const answer = await api.ask(`api/plan?same_as=${sameAs.value}`, { method: "POST", body: text, signal, headers });
      return [h("pre", { class: "plan", tabindex: "0", role: "region", "aria-label": "Plan" }, await answer.text())];
    });
  }

  async function run(most = MOST) {
    if (running) return running.abort();
    const text = declared();
    const loss = isUpdate(text) ? takesAway(text) : null;
    if (asking || (loss && !(await asked(loss)))) return;
    const done = await timed(async (signal, started) => isUpdate(text) ? changed(await api.update(text)) : answered(text, sameAs.value,
      await api.query(text, { sameAs: sameAs.value, most, signal }), performance.now() - started, () => run(10 * most)));
    if (done) {
      remember(text);
      fill();
    }
  }

  function fill() {
    const group = (label, entries) => h("optgroup", { label }, entries.map(([name, text]) => h("option", { value: text }, name)));
    menu.replaceChildren(
      h("option", { value: "" }, "Examples and history"),
      group("Examples", Object.entries(EXAMPLES)),
      ...(past().length ? [group("Asked before", past().map((text) => [title(text).slice(0, 80), text]))] : []),
    );
  }

  const edit = editor(box, given ?? tab(id).text ?? START, () => run(), (text) => id !== null && write(id, text));
  button.addEventListener("click", () => run());
  plan.addEventListener("click", explain);
  menu.addEventListener("change", () => {
    if (menu.value) edit.set(menu.value);
    menu.value = "";
    edit.focus();
  });
  fill();
  if (given !== null && !isUpdate(given)) queueMicrotask(() => run()); // what a link says changes nothing by itself
  return [
    h("h1", { class: "visually-hidden" }, "Query"),
    h("section", { class: "card ask", "aria-label": "Query editor" }, box,
      h("div", { class: "tools" }, button, plan, h("kbd", {}, "Ctrl ⏎"), h("span", { class: "gap" }), h("label", { class: "quiet" }, "Show ", sameAs), menu)),
    results,
  ];
}

/** What was found. further: reads more rows. */
function answered(text, sameAs, found, milliseconds, further) {
  const warning = found.warning ? h("p", { class: "warning", role: "alert" }, h("strong", {}, "Warning: "), found.warning) : null;
  const time = milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
  if (found.kind === "ask") {
    say(found.boolean ? "Yes" : "No");
    return [h("p", { class: `verdict ${found.boolean ? "yes" : "no"}` }, found.boolean ? "Yes" : "No"), h("p", { class: "note" }, time), ...(warning ? [warning] : [])];
  }
  const word = found.kind === "graph" ? "triple" : "row";
  const count = found.complete ? plural(found.rows.length, word) : `the first ${number(found.rows.length)} ${word}s`;
  say(count);
  const views = { Table: () => table(found) };
  const edges = edgesOf(found);
  if (edges && found.rows.length) views.Graph = () => drawing(edges);
  const body = h("div", { class: "view" });
  const tabs = Object.keys(views).map((name) => h("button", { type: "button", role: "tab", onclick: () => choose(name) }, name));
  function choose(name) {
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", tab.textContent === name);
      tab.tabIndex = tab.textContent === name ? 0 : -1;
    }
    body.replaceChildren(views[name]());
  }
  const refused = h("div"); // what cannot be downloaded, and why
  const save = (media, name) => download(text, sameAs, media, name).then(() => refused.replaceChildren(), (error) => refused.replaceChildren(fault(error)));
  const bar = h("div", { class: "bar" },
    h("div", { role: "tablist", "aria-label": "Views", onkeydown: (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
      next.focus();
      next.click();
    } }, tabs),
    h("span", { class: "note count" }, `${count} in ${time}`, found.version ? ` · version ${found.version}` : ""),
    found.complete ? null : h("button", { type: "button", class: "secondary", onclick: further }, `Read up to ${number(10 * found.rows.length)}`),
    h("span", { class: "gap" }),
    h("span", { class: "downloads" }, Object.entries(DOWNLOADS[found.kind]).map(([name, media]) =>
      h("button", { type: "button", class: "link", onclick: () => save(media, `result.${SUFFIXES[name]}`) }, name))),
  );
  choose(found.kind === "graph" && views.Graph && edges.length <= 150 ? "Graph" : "Table");
  return [bar, ...(warning ? [warning] : []), refused, body];
}

function changed(figures) {
  const { version, added, deleted, merged, split, seconds, algorithm } = figures;
  say(`Version ${version}`);
  return [h("div", { class: "done", role: "status" }, h("strong", {}, `Version ${version}`), h("p", {},
    `${plural(added ?? 0, "stored fact")} added, ${number(deleted ?? 0)} deleted, ${plural(merged ?? 0, "term")} merged, `
    + `${number(split ?? 0)} split; ${seconds} s by ${algorithm}.`))];
}

async function download(text, sameAs, media, name) {
  const headers = { "Content-Type": "application/sparql-query", Accept: media };
  const response = await api.ask(`sparql?same_as=${sameAs}`, { method: "POST", body: text, headers });
  const address = URL.createObjectURL(await response.blob());
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

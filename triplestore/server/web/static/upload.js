// Loading a file from the page: a look at it, what it would do, then the load.
import { ask } from "./api.js";
import { fault, h, plural, say } from "./dom.js";
import { effects } from "./effects.js";

const MEDIA = {
  ".ttl": "text/turtle", ".nt": "application/n-triples", ".nq": "application/n-quads", ".trig": "application/trig",
  ".rdf": "application/rdf+xml", ".owl": "application/rdf+xml", ".xml": "application/rdf+xml", ".jsonld": "application/ld+json",
};
const SHOWN = 1_500; // characters of a file that are shown
const LOOKED_AT = 1 << 16; // bytes of it that are read for that

export function upload() {
  const file = h("input", { type: "file", name: "file", accept: [...Object.keys(MEDIA), ".gz"].join(","), required: true });
  const graph = h("input", { type: "text", name: "graph", placeholder: "the unnamed graph", spellcheck: "false" });
  const body = h("div", { "aria-live": "polite" });
  const form = h("form", { class: "upload" },
    h("label", {}, "File", file), h("label", {}, "Into the graph (an IRI)", graph),
    h("button", { class: "secondary" }, "Preview"));
  for (const field of [file, graph]) field.addEventListener("input", () => body.replaceChildren());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const [chosen] = file.files;
    body.replaceChildren(h("p", { class: "waiting" }, "Reading the file and finding out what would change …"));
    const into = graph.value; // what is loaded goes where the preview was of, whatever is typed meanwhile
    try {
      const media = mediaOf(chosen.name);
      body.replaceChildren(...preview(await head(chosen), await send(chosen, media, into, true), () => load(chosen, media, into)));
    } catch (error) {
      body.replaceChildren(fault(error));
    }
  });

  async function load(chosen, media, into) {
    body.replaceChildren(h("p", { class: "waiting" }, "Loading …"));
    try {
      const { version } = await send(chosen, media, into, false);
      say(`Loaded, version ${version}`);
      dispatchEvent(new Event("hashchange")); // the page is made again
    } catch (error) {
      body.replaceChildren(fault(error));
    }
  }

  return h("section", { class: "card" }, h("h2", {}, "Load a file"),
    h("p", { class: "note" }, `Turtle, N-Triples, N-Quads, TriG, RDF/XML or JSON-LD, recognised by the suffix (${Object.keys(MEDIA).join(" ")}), optionally compressed (.gz).`), form, body);
}

function mediaOf(name) {
  const [suffix] = name.toLowerCase().replace(/\.gz$/, "").match(/\.\w+$/) ?? [""];
  if (suffix in MEDIA) return MEDIA[suffix];
  throw new Error(`The suffix of ${name} tells no syntax of RDF: rename it to one of ${Object.keys(MEDIA).join(" ")}.`);
}

const packed = (file) => file.name.toLowerCase().endsWith(".gz");

/** The first characters of a file. */
async function head(file) {
  let start = file.slice(0, LOOKED_AT).stream();
  if (packed(file)) start = start.pipeThrough(new DecompressionStream("gzip"));
  const { value } = await start.pipeThrough(new TextDecoderStream()).getReader().read();
  return value === undefined ? "" : value.slice(0, SHOWN) + (value.length > SHOWN || file.size > LOOKED_AT ? "\n…" : "");
}

async function send(file, media, graph, dry) {
  const where = graph.trim() ? `graph=${encodeURIComponent(graph.trim().replace(/^<(.*)>$/, "$1"))}` : "default";
  const headers = { "Content-Type": media, ...(packed(file) ? { "Content-Encoding": "gzip" } : {}), Accept: "application/json" };
  return (await ask(`data?${where}&dry_run=${dry}`, { method: "POST", body: file, headers })).json();
}

function preview(text, figures, load) {
  return [
    h("pre", { class: "plan", tabindex: "0", role: "region", "aria-label": "The file" }, text),
    h("p", {}, `${plural(figures.triples, "triple")} read.`),
    ...effects(figures),
    h("div", { class: "choices" }, h("button", { type: "button", class: "primary", onclick: load }, "Load it")),
  ];
}

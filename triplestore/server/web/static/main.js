// The frame: which page is shown, the search for resources, light and dark.
import { json } from "./api.js";
import { changes } from "./changes.js";
import { classes } from "./classes.js";
import { fault, h, keep, say, stored } from "./dom.js";
import { graphs } from "./graphs.js";
import { links } from "./links.js";
import { overview } from "./overview.js";
import { queryPage } from "./query.js";
import { resource } from "./resource.js";
import { search } from "./search.js";
import { streams } from "./streams.js";
import { expand, load, names, short, words } from "./terms.js";

const THEME = "triplake-theme";
const main = document.getElementById("main");
const pages = { query: queryPage, overview, changes, classes, links, graphs, streams, resource, search };
const titles = { query: "Query", overview: "Overview", changes: "Changes", classes: "Classes", links: "Links", graphs: "Graphs", streams: "Streams", resource: "Resource", search: "Search" };

let shown = location.hash;

async function route() {
  const [, path, search] = location.hash.match(/^#?\/?([^?]*)\??(.*)$/s);
  const page = Object.hasOwn(pages, path) ? path : "query";
  for (const anchor of document.querySelectorAll("nav a")) {
    if (anchor.dataset.page === page) anchor.setAttribute("aria-current", "page");
    else anchor.removeAttribute("aria-current");
  }
  document.title = `${titles[page]} · Triplake`;
  main.className = `page-${page}`;
  const parameters = new URLSearchParams(search);
  const waiting = h("p", { class: "waiting" }, "Loading …");
  const timer = setTimeout(() => main.replaceChildren(waiting), 150);
  const hash = location.hash;
  let content;
  try {
    content = await pages[page](parameters);
  } catch (error) {
    content = [fault(error)];
  }
  clearTimeout(timer);
  if (hash !== location.hash) return;
  main.replaceChildren(...content);
  if (hash !== shown) scrollTo(0, 0);
  shown = hash;
  say(document.title);
  version();
}

async function version() {
  const { version: number, engine, read_only: readOnly, streams: asked } = await json("health");
  document.querySelector('nav [data-page="streams"]').hidden = !asked;
  const text = `version ${number}${readOnly ? ", read-only" : ""}`;
  Object.assign(document.getElementById("version"), { textContent: text, title: `The newest version, on ${engine}` });
}

document.getElementById("find").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = new FormData(event.target).get("term").trim();
  if (text) location.hash = names(text) ? `#/resource?term=${encodeURIComponent(expand(text))}` : `#/search?text=${encodeURIComponent(text)}`;
});

const dark = () => (document.documentElement.dataset.theme
  ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
const chosen = stored(THEME);
if (chosen) document.documentElement.dataset.theme = chosen;
document.getElementById("theme").addEventListener("click", () => {
  document.documentElement.dataset.theme = dark() ? "light" : "dark";
  keep(THEME, document.documentElement.dataset.theme);
});

try {
  await load();
} catch (error) {
  say(error.message);
}
const known = [...words.classes, ...words.properties].slice(0, 200);
document.getElementById("known-terms").append(...known.map(({ term }) => h("option", { value: short(term.value) })));
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the part of the address after # says which page is shown
  main.focus();
});
addEventListener("hashchange", route);
await route();

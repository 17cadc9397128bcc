// What has some words in its texts, what fits best first.
import { json } from "./api.js";
import { h, number } from "./dom.js";
import { meet, show } from "./terms.js";

export async function search(parameters) {
  const text = parameters.get("text") ?? "";
  document.getElementById("find").elements.term.value = text;
  const { found, more } = await json(`api/search?text=${encodeURIComponent(text)}`);
  for (const { term, property } of found) for (const { type, value } of [term, property]) type === "uri" && meet(value);
  const row = (hit) => h("tr", {}, h("th", { scope: "row" }, show(hit.term)), h("td", {}, show(hit.property)), h("td", {}, show(hit.text)));
  return [
    h("h1", { class: "visually-hidden" }, "Search"),
    h("section", { class: "card" },
      h("h2", {}, `“${text}” `, h("small", {}, found.length ? `${number(found.length)}${more ? " of more" : ""}` : "nothing found")),
      h("p", { class: "note" }, "Use words, \"phrases\", prefixes such as rembr*, and AND, OR, NOT. Case and accents are ignored."),
      found.length ? h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Found" }, h("table", { class: "graphs hits" },
        h("thead", {}, h("tr", {}, ["Resource", "Property", "Text"].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, found.map(row)))) : null),
  ];
}

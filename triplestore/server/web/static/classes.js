// The hierarchy of classes, opened level by level, with how many things each has.
import { json } from "./api.js";
import { fault, h, number, plural } from "./dom.js";
import { thingsOf } from "./sparql.js";
import { meet, ownFirst, short, show } from "./terms.js";

export async function classes() {
  const found = await json("api/hierarchy");
  return [
    h("section", { class: "card" },
      h("h1", {}, "Classes"),
      h("p", { class: "note" }, "Each class is listed below its superclass, with the number of its things, including those of its subclasses."),
      level(found)),
  ];
}

function level(found) {
  found.classes.forEach(({ term }) => meet(term.value));
  if (!found.classes.length) return h("p", { class: "empty" }, "No classes.");
  return h("ul", { class: "hierarchy" }, ownFirst(found.classes).map(line),
    found.more ? h("li", { class: "note" }, `Only the first ${number(found.classes.length)} are listed.`) : null);
}

function line({ term, things, more }) {
  const words = [show(term), " ", things
    ? h("a", { class: "bar-count", href: `#/query?query=${encodeURIComponent(thingsOf(term.value))}`, "aria-label": `${plural(things, "thing")}: ask for ${short(term.value)}` }, number(things))
    : h("span", { class: "bar-count" }, "0")];
  if (!more) return h("li", { class: "leaf" }, words);
  const below = h("div", { hidden: true });
  const button = h("button", { type: "button", class: "icon", "aria-expanded": "false", "aria-label": `Below ${short(term.value)}` }, "▸");
  button.addEventListener("click", async () => {
    below.hidden = !below.hidden;
    button.setAttribute("aria-expanded", String(!below.hidden));
    button.textContent = below.hidden ? "▸" : "▾";
    if (below.hidden || below.childElementCount) return;
    below.replaceChildren(h("p", { class: "note" }, "Loading …"));
    try {
      below.replaceChildren(level(await json(`api/hierarchy?under=${encodeURIComponent(`<${term.value}>`)}`)));
    } catch (error) {
      below.replaceChildren(fault(error));
    }
  });
  return h("li", {}, button, words, below);
}

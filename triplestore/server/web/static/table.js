// Rows as a table: sorted by a click on a heading, filtered as one types, more rows as one asks for them.
import { h, number } from "./dom.js";
import { meet, plain, show } from "./terms.js";

const STEP = 200;

const value = (term) => (term?.type === "literal" && term.value.trim() !== "" && !Number.isNaN(Number(term.value))
  ? Number(term.value) : plain(term).toLowerCase());

function compare(a, b) {
  if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0;
  return typeof a === "number" ? -1 : 1;
}

export function table({ variables, rows }) {
  rows.slice(0, 2_000).flat().forEach((term) => term?.type === "uri" && meet(term.value));
  let shown = rows;
  let limit = STEP;
  let order = { place: -1, down: false };
  const body = h("tbody");
  const more = h("button", { type: "button", class: "more" });
  const filter = h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter the rows", class: "filter" });
  const heads = variables.map((name, place) => h("th", { scope: "col" }, h("button", {
    type: "button", title: "Sort", onclick: () => sort(place),
  }, name, h("span", { class: "arrow", "aria-hidden": "true" }))));

  function draw() {
    body.replaceChildren(...shown.slice(0, limit).map((row, index) =>
      h("tr", {}, h("td", { class: "row-number" }, number(index + 1)), row.map((term) => h("td", {}, show(term))))));
    more.hidden = shown.length <= limit;
    more.textContent = `Show more (${number(shown.length - limit)} left)`;
  }

  function sort(place) {
    order = { place, down: order.place === place && !order.down };
    apply();
    heads.forEach((head, at) => {
      if (at === place) head.setAttribute("aria-sort", order.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
      head.querySelector(".arrow").textContent = at === place ? (order.down ? "▼" : "▲") : "";
    });
  }

  function apply() {
    const wanted = filter.value.trim().toLowerCase();
    shown = wanted ? rows.filter((row) => row.some((term) => plain(term).toLowerCase().includes(wanted))) : [...rows];
    if (order.place >= 0) {
      const keys = new Map(shown.map((row) => [row, value(row[order.place])]));
      shown.sort((a, b) => compare(keys.get(a), keys.get(b)) * (order.down ? -1 : 1));
    }
    limit = STEP;
    draw();
  }

  filter.addEventListener("input", apply);
  more.addEventListener("click", () => {
    limit += 5 * STEP;
    draw();
  });
  draw();
  if (!rows.length) return h("p", { class: "empty" }, "No rows: nothing matches.");
  return h("div", { class: "table card" },
    rows.length > 10 ? h("div", { class: "table-tools" }, filter) : null,
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rows" },
      h("table", {}, h("thead", {}, h("tr", {}, h("th", { class: "row-number" }), heads)), body)),
    more);
}

// Continuous queries: their answers as they come, and the figures of their streams.
import { ask, events, json, parse } from "./api.js";
import { fault, h, number, plural } from "./dom.js";
import { meet, show } from "./terms.js";

const ROWS = 100;
const SHOWN = 120;

export async function streams(parameters) {
  const { queries, posted = [], figures } = await json("streams");
  if (!queries.length) {
    return [h("h1", { class: "visually-hidden" }, "Streams"), h("section", { class: "card" }, h("h2", {}, "Streams"),
      h("p", { class: "empty" }, "This server asks no continuous queries. Start it with ", h("code", {}, "triplake serve STORE --stream FILE"), "."))];
  }
  const query = queries.find(({ name }) => name === parameters.get("name")) ?? queries[0];
  const tiles = h("section", { class: "tiles", "aria-label": "Figures" });
  const answer = h("section", { class: "card live" }, h("h2", {}, "Waiting for an answer …"));
  const drawing = h("section", { class: "card", "aria-label": "The last answers" });
  const pause = h("button", { type: "button", class: "secondary", "aria-pressed": "false", onclick: () => toggle() }, "Pause");
  const recent = [];
  const sizes = [];
  let newest;
  let paused = false;

  function toggle() {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Resume" : "Pause";
    if (!paused) draw();
  }

  function draw() {
    if (paused || !newest) return;
    answer.replaceChildren(...told(newest));
    drawing.replaceChildren(h("h2", {}, "Triples in the window"), bars(sizes, "triple"), h("h2", {}, "Rows of the last answers"), bars(recent, "row"));
  }

  figured(tiles, figures);
  follow(query.name, {
    answer(text) {
      newest = JSON.parse(text);
      keep(recent, moment(newest.time), newest.rows?.length ?? Number(newest.boolean));
      draw();
    },
    figures(text) {
      const now = JSON.parse(text);
      keep(sizes, new Date().toLocaleTimeString(), now.window);
      if (!paused) figured(tiles, now);
      draw();
    },
    missed: () => recent.splice(0),
    end: () => { pause.disabled = true; },
  }, (error) => answer.replaceChildren(fault(error)));
  return [
    h("h1", { class: "visually-hidden" }, "Streams"),
    queries.length > 1 ? h("nav", { class: "choices", "aria-label": "Queries" }, queries.map(({ name }) =>
      h("a", { href: `#/streams?name=${encodeURIComponent(name)}`, class: "secondary", "aria-current": name === query.name ? "page" : null }, name))) : null,
    tiles,
    h("div", { class: "columns" }, answer, drawing),
    h("section", { class: "card" }, h("div", { class: "bar" }, h("h2", {}, query.name), pause),
      h("p", { class: "note" }, query.windows.map(({ stream, range, step }) => `${stream || "the stream"}: the last ${span(range)}, every ${span(step)}`).join(" · "), ` · ${query.operator.toUpperCase()}`),
      h("pre", { class: "scroll asked", tabindex: "0" }, query.query.replace(/\n{2,}/g, "\n")),
      posted.length ? h("p", { class: "note" }, "Clients post ", h("code", {}, "TIME TRIPLE ."), ` lines to ${new URL("streams", location.href)}`) : null),
  ].filter(Boolean);
}

/** Hand on the events of a query for as long as its page is shown; a connection that ends is made again. */
async function follow(name, handlers, failed) {
  const leaving = new AbortController();
  addEventListener("hashchange", () => leaving.abort(), { once: true });
  let last;
  while (!leaving.signal.aborted) {
    try {
      const headers = { Accept: "text/event-stream", ...(last === undefined ? {} : { "Last-Event-ID": last }) };
      const response = await ask(`streams/${encodeURIComponent(name)}`, { headers, signal: leaving.signal });
      for await (const { event, data, id } of events(response)) {
        last = id ?? last;
        handlers[event]?.(data);
        if (event === "end" && JSON.parse(data).state !== "closed") return;
      }
    } catch (error) {
      if (leaving.signal.aborted) return;
      if (error.status) return failed(error);
    }
    await new Promise((resolve) => setTimeout(resolve, 2000));
  }
}

function figured(tiles, { state, fault: wrong, rate, window, closure, lag, slowest, triples, late, malformed, windows, algorithm }) {
  const left = late + malformed;
  const all = [
    ["Window", number(window), "triples in it now"],
    ["Triples a second", number(rate), `${number(triples)} so far`],
    ["Lag", seconds(lag), `the slowest slide took ${seconds(slowest)}`],
    ["Closure", number(closure), `facts, maintained by ${algorithm}`],
    ["Windows", number(windows), "answered"],
    state === "failed" ? ["Failed", "!", wrong, "bad"] : ["Left out", number(left), left ? `${number(late)} late, ${number(malformed)} malformed` : "everything was in time", left ? "bad" : "good"],
  ];
  tiles.replaceChildren(...all.map(([name, figure, hint, mood]) =>
    h("div", { class: `tile ${mood ?? ""}` }, h("span", { class: "name" }, name), h("span", { class: "figure" }, figure), h("span", { class: "hint" }, hint))));
}

/** The newest answer. */
function told({ time, rows, boolean, operator }) {
  const head = h("h2", {}, "At ", h("time", {}, moment(time)));
  if (rows === undefined) return [head, h("p", { class: "figure" }, boolean ? "yes" : "no")];
  const variables = [...new Set(rows.slice(0, ROWS).flatMap(Object.keys))];
  const kind = { rstream: "row", istream: "new row", dstream: "row that is gone" }[operator];
  const note = h("p", { class: "note" }, operator === "dstream" && rows.length !== 1 ? `${number(rows.length)} rows that are gone` : plural(rows.length, kind));
  if (!rows.length) return [head, note];
  const cells = rows.slice(0, ROWS).map((row) => variables.map((name) => (row[name] === undefined ? null : parse(row[name]))));
  cells.flat().forEach((term) => term?.type === "uri" && meet(term.value));
  return [head, note, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rows" }, h("table", {},
    h("thead", {}, h("tr", {}, variables.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, cells.map((row) => h("tr", {}, row.map((term) => h("td", {}, term ? show(term) : "")))))))];
}

function keep(values, when, count) {
  values.push({ when, count });
  if (values.length > SHOWN) values.shift();
}

/** A bar for each of the last values. */
function bars(values, unit) {
  const most = Math.max(...values.map(({ count }) => count), 1);
  const label = `${number(values.length)} values, up to ${plural(most, unit)}; now ${plural(values.at(-1)?.count ?? 0, unit)}`;
  return h("div", { class: "answers", role: "img", "aria-label": label }, values.map(({ when, count }) => {
    const bar = h("span", { title: `${when}: ${plural(count, unit)}` });
    bar.style.height = `${Math.max(2, (100 * count) / most)}%`;
    return bar;
  }));
}

const seconds = (value) => (value < 1 ? `${Math.round(value * 1000)} ms` : `${value.toFixed(1)} s`);

/** A time of a stream: as a date where it can be one in milliseconds, else the number it is. */
const moment = (time) => (Math.abs(time) > 1e11 && Math.abs(time) < 1e14 ? new Date(time).toISOString().replace("T", " ").replace(/\.000Z|Z/, "") : number(time));

const span = (units) => {
  for (const [unit, size] of [["d", 86_400_000], ["h", 3_600_000], ["min", 60_000], ["s", 1000]]) if (units % size === 0) return `${number(units / size)} ${unit}`;
  return number(units);
};

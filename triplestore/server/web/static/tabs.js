// The queries that are being written, side by side; they outlive the page, in this browser.
import { h, keep, stored } from "./dom.js";

const KEY = "triplake-tabs";
const NAMED = 28; // characters of a query that its tab shows

const state = read();

function read() {
  try {
    const found = JSON.parse(stored(KEY));
    if (found.tabs.length && found.tabs.every(({ id, text }) => Number.isInteger(id) && text === null || typeof text === "string")) return found;
  } catch { /* none are kept yet */ }
  return { tabs: [{ id: 1, text: null }], current: 1 };
}

const save = () => keep(KEY, JSON.stringify(state));

/** A query in a line, without its prefixes. */
export const title = (text) => text.replace(/PREFIX\s+\S+\s*<[^>]*>/gi, "").replace(/\s+/g, " ").trim();

const numbered = (number) => state.tabs.find(({ id }) => id === number);

/** The tab with a number; without it, or where it is gone, the one that was used last. Null text: nothing was written. */
export function tab(number) {
  const found = numbered(number) ?? numbered(state.current) ?? state.tabs[0];
  state.current = found.id;
  return found;
}

const name = ({ text }) => title(text ?? "").slice(0, NAMED) || "New query";

/** What has been written in the tab that is open. */
export function write(number, text) {
  const found = numbered(number);
  if (!found) return;
  found.text = text;
  save();
  const shown = document.querySelector(".queries [aria-current]");
  if (shown) shown.textContent = shown.title = name(found);
}

/** Open a tab without a text; its number. */
function open() {
  const id = Math.max(...state.tabs.map((one) => one.id)) + 1;
  state.tabs.push({ id, text: "" });
  save();
  return id;
}

/** Close a tab; the number of the one to go to. */
function close(number) {
  const at = state.tabs.findIndex(({ id }) => id === number);
  state.tabs.splice(at, 1);
  if (!state.tabs.length) state.tabs.push({ id: number + 1, text: null });
  state.current = state.tabs[Math.min(at, state.tabs.length - 1)].id;
  save();
  return state.current;
}

/** The tabs. shown: the number of the one that is open; null: what a link asked. closed: called with one that goes. */
export function bar(shown, closed) {
  const go = (number) => { location.hash = `#/query?tab=${number}`; };
  const entry = (label, href, current, button) => h("span", { class: "tab" }, h("a", { href, "aria-current": current ? "page" : null, title: label }, label), button);
  const several = state.tabs.length > 1;
  return h("nav", { class: "queries", "aria-label": "Queries" },
    state.tabs.map((one) => entry(name(one), `#/query?tab=${one.id}`, one.id === shown, several
      ? h("button", { type: "button", class: "icon", "aria-label": `Close ${name(one)}`, onclick: () => {
        const next = close(one.id);
        closed(one.id);
        if (one.id === shown) go(next);
        else dispatchEvent(new Event("hashchange"));
      } }, "✕") : null)),
    shown === null ? entry("From a link", location.hash, true) : null,
    h("button", { type: "button", class: "icon", "aria-label": "New query", title: "New query", onclick: () => go(open()) }, "+"));
}

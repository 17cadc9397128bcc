// Talking to the server; asks for credentials when it wants some.
import { dialog, h } from "./dom.js";

const CREDENTIALS = "triplake-credentials";

let signedIn = null; // where the browser keeps nothing

/** What proves who asks, as this tab keeps it. */
function credentials() {
  try {
    return sessionStorage.getItem(CREDENTIALS) ?? signedIn;
  } catch {
    return signedIn;
  }
}

function keepCredentials(text) {
  signedIn = text;
  try {
    sessionStorage.setItem(CREDENTIALS, text);
  } catch { /* it keeps nothing: until the page is left */ }
}

export class Fault extends Error {
  constructor(status, problem) {
    super(problem.detail);
    Object.assign(this, { status, title: problem.title, line: problem.line, column: problem.column });
  }
}

export async function ask(path, options = {}) {
  for (let attempt = 0; ; attempt++) {
    const proof = credentials();
    const headers = { ...options.headers, ...(proof ? { Authorization: proof } : {}) };
    headers.Accept = headers.Accept ? `${headers.Accept}, application/problem+json;q=0.1` : "application/json";
    const response = await fetch(path, { ...options, headers });
    if (response.ok) return response;
    if (response.status === 401 && (await signIn(attempt > 0))) continue;
    const json = response.headers.get("content-type")?.includes("json");
    const problem = json ? await response.json() : { title: response.statusText, detail: await response.text() };
    throw new Fault(response.status, problem);
  }
}

export const json = async (path) => (await ask(path)).json();

/** Ask for a token, or a name and password; whether some were given. */
function signIn(again) {
  return new Promise((resolve) => {
    const secret = h("input", { type: "password", name: "secret", autocomplete: "current-password", required: true });
    const name = h("input", { type: "text", name: "name", autocomplete: "username" });
    const form = h(
      "form",
      { method: "dialog", class: "sign-in" },
      again ? h("p", { role: "alert", class: "wrong" }, "The name, password or token was not accepted.") : null,
      h("label", {}, "Name (leave empty for a token)", name),
      h("label", {}, "Password or token", secret),
      h("button", { class: "primary" }, "Sign in"),
    );
    let given = false;
    form.addEventListener("submit", () => {
      given = true;
      const basic = () => btoa(String.fromCharCode(...new TextEncoder().encode(`${name.value}:${secret.value}`)));
      keepCredentials(name.value ? `Basic ${basic()}` : `Bearer ${secret.value.replace(/[^\x20-\x7e]/g, "?")}`); // no header holds others
    });
    dialog("Sign in", form).addEventListener("close", () => resolve(given));
  });
}

const ROWS = "application/sparql-results+json";
const TRIPLES = "application/n-triples";

/**
 * Run a query; the rows are read as they come, and no more than `most`.
 * Gives { kind, variables, rows, complete, version, warning } or { kind: "ask", boolean, version, warning }.
 */
export async function query(text, { sameAs = "expand", most = Infinity, signal } = {}) {
  const response = await ask(`sparql?same_as=${sameAs}`, {
    method: "POST",
    body: text,
    signal,
    headers: { "Content-Type": "application/sparql-query", Accept: `${ROWS}, ${TRIPLES};q=0.9` },
  });
  const version = response.headers.get("triplake-version");
  const warning = response.headers.get("triplake-warning");
  const triples = response.headers.get("content-type").startsWith(TRIPLES);
  const found = { kind: triples ? "graph" : "rows", rows: [], complete: true, version, warning };
  if (triples) found.variables = ["subject", "predicate", "object"];
  for await (const line of lines(response)) {
    if (found.rows.length >= most) {
      found.complete = false;
      break;
    }
    if (triples) {
      if (line) found.rows.push(triple(line));
    } else if (found.variables === undefined) {
      const head = JSON.parse(line.endsWith("[") ? `${line}]}}` : line);
      if ("boolean" in head) return { kind: "ask", boolean: head.boolean, version, warning };
      found.variables = head.head.vars;
    } else if (line.startsWith("{")) {
      const row = JSON.parse(line.replace(/,$/, ""));
      found.rows.push(found.variables.map((name) => row[name]));
    }
  }
  return found;
}

async function* lines(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const parts = (rest + value).split("\n");
      rest = parts.pop();
      yield* parts;
    }
    if (rest) yield rest;
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** Server-sent events as they come: { event, data, id }. */
export async function* events(response) {
  let found = {};
  for await (const line of lines(response)) {
    const [, name, value] = line.match(/^(\w+): ?(.*)$/) ?? [];
    if (name) found[name] = value;
    else if (line === "" && found.event) yield found;
    if (line === "") found = {};
  }
}

const TERM = /<<\(|\)>>|<([^>]*)>|(_:\S+)|"((?:[^"\\]|\\.)*)"(?:\^\^<([^>]*)>|@(\w+(?:-\w+)*)(?:--(\w+))?)?/g;
const ESCAPES = { t: "\t", n: "\n", r: "\r", b: "\b", f: "\f" };

/** A line of N-Triples. */
const triple = (line) => terms(line).slice(0, 3);

/** A term as N-Triples writes it. */
export const parse = (text) => terms(text)[0];

/** The terms in a line of N-Triples or N-Quads. */
export function terms(line) {
  const open = [[]]; // the terms of the line, and those of triple terms that are not at their ends
  for (const [mark, iri, blank, text, datatype, lang, direction] of line.matchAll(TERM)) {
    if (mark === "<<(") {
      open.push([]);
    } else if (mark === ")>>") {
      const [subject, predicate, object] = open.pop();
      open.at(-1).push({ type: "triple", value: { subject, predicate, object } });
    } else if (iri !== undefined) {
      open.at(-1).push({ type: "uri", value: iri });
    } else if (blank !== undefined) {
      open.at(-1).push({ type: "bnode", value: blank.slice(2) });
    } else {
      const value = text.replace(/\\(u[\dA-Fa-f]{4}|U[\dA-Fa-f]{8}|.)/g, (_, e) =>
        e.length > 1 ? String.fromCodePoint(parseInt(e.slice(1), 16)) : ESCAPES[e] ?? e);
      const tagged = { ...(lang ? { "xml:lang": lang } : {}), ...(direction ? { "its:dir": direction } : {}) };
      open.at(-1).push({ type: "literal", value, ...tagged, ...(datatype ? { datatype } : {}) });
    }
  }
  return open[0];
}

/** Carry out an update, or (dry) only say what it would do; its figures. */
export async function update(text, dry = false) {
  const headers = { "Content-Type": "application/sparql-update", Accept: "application/json" };
  return (await ask(`sparql?dry_run=${dry}`, { method: "POST", body: text, headers })).json();
}

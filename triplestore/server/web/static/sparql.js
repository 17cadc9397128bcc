// What a text of SPARQL is, as far as the page has to know; the server is who parses it.
import { words } from "./terms.js";

const PROLOGUE = /\b(?:PREFIX\s+[^\s:]*:|BASE)(?=\s*<)|\bVERSION\b/gi;
const HIDDEN = /"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|<[^<>"{}|^`\\\s]*>|#.*$/gm;

/** The text without its strings, IRIs and comments. */
const bare = (text) => text.replace(HIDDEN, (part) => (part[0] === "<" ? "<>" : " "));

/** A query for the things of a class. */
export const thingsOf = (iri) => `SELECT ?x WHERE {\n  ?x a <${iri}>\n}\nLIMIT 100\n`;

/** Whether a text is an update: by its first word after prologue and comments. */
export const isUpdate = (text) => /^[\s<>]*(INSERT|DELETE|WITH|LOAD|CLEAR|DROP|CREATE|ADD|MOVE|COPY)\b/i
  .test(bare(text).replace(PROLOGUE, ""));

/** What of an update takes away what it does not name triple by triple, as its keywords; null where nothing does. */
export function takesAway(text) {
  const [found] = bare(text).match(/(?<![?$:\w])(?:CLEAR|DROP|MOVE|COPY|DELETE(?!\s+DATA\b))(?![:\w])(?:\s+(?:SILENT|WHERE|ALL|DEFAULT|NAMED|GRAPH)\b)*/i) ?? [];
  return found?.toUpperCase().replace(/\s+/g, " ") ?? null;
}

/** The prefixes that a text declares, with their namespaces. */
export const declared = (text) => new Map(
  [...text.matchAll(/PREFIX\s+([^\s:]*):\s*<([^>]*)>/gi)].map(([, prefix, space]) => [prefix, space]));

/** Declarations of prefixes that the page knows, and a text uses without one. */
export function undeclared(text) {
  const own = declared(text);
  const used = new Set([...bare(text).matchAll(/(?<![\w.:?$@_-])([A-Za-z][\w-]*):/g)].map(([, prefix]) => prefix));
  return [...used].filter((prefix) => !own.has(prefix) && Object.hasOwn(words.prefixes, prefix))
    .map((prefix) => `PREFIX ${prefix}: <${words.prefixes[prefix]}>\n`).join("");
}

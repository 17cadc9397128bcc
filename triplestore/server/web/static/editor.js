// The query editor: CodeMirror with SPARQL's colours, completion from the store's own words, errors where they are.
// Where it was not built in, a field for text.
import { h } from "./dom.js";
import { declared } from "./sparql.js";
import { cut, words } from "./terms.js";

const cm = await import("./vendor.js").catch(() => null);

const KEYWORDS = ("SELECT DISTINCT REDUCED CONSTRUCT DESCRIBE ASK WHERE FILTER OPTIONAL UNION MINUS GRAPH BIND AS VALUES "
  + "ORDER BY GROUP HAVING LIMIT OFFSET ASC DESC COUNT SUM AVG MIN MAX SAMPLE GROUP_CONCAT EXISTS NOT IN PREFIX BASE "
  + "INSERT DELETE DATA CLEAR DEFAULT STR LANG LANGMATCHES DATATYPE BOUND IRI URI BNODE RAND ABS CEIL FLOOR ROUND CONCAT "
  + "STRLEN UCASE LCASE ENCODE_FOR_URI CONTAINS STRSTARTS STRENDS STRBEFORE STRAFTER YEAR MONTH DAY HOURS MINUTES SECONDS "
  + "TIMEZONE TZ NOW UUID STRUUID MD5 SHA1 SHA256 COALESCE IF STRLANG STRDT sameTerm isIRI isBLANK isLITERAL isNUMERIC "
  + "REGEX SUBSTR REPLACE UNDEF").split(" ");

const style = cm?.HighlightStyle.define([
  { tag: cm.tags.keyword, color: "var(--code-keyword)", fontWeight: "600" },
  { tag: [cm.tags.variableName, cm.tags.special(cm.tags.variableName)], color: "var(--code-variable)" },
  { tag: cm.tags.atom, color: "var(--code-name)" },
  { tag: [cm.tags.string, cm.tags.number, cm.tags.bool], color: "var(--code-literal)" },
  { tag: cm.tags.comment, color: "var(--muted)", fontStyle: "italic" },
  { tag: [cm.tags.standard(cm.tags.variableName), cm.tags.meta], color: "var(--code-function)" },
]);

/** Put text in place of a range, and a PREFIX line on top where the text needs one. */
function insert(view, text, prefix, from, to) {
  const changes = [{ from, to, insert: text }];
  if (prefix !== null && !declared(view.state.doc.toString()).has(prefix)) {
    changes.push({ from: 0, insert: `PREFIX ${prefix}: <${words.prefixes[prefix]}>\n` });
  }
  const set = view.state.changes(changes);
  view.dispatch({ changes: set, selection: { anchor: set.mapPos(to, 1) }, userEvent: "input.complete" });
}

/** The name of a term in this text: by the prefix declared for its namespace, else by ours. */
function named(iri, spaces) {
  const parts = cut(iri);
  if (!parts) return [`<${iri}>`, null];
  const own = spaces.get(words.prefixes[parts[0]]);
  return own !== undefined ? [`${own}:${parts[1]}`, own] : [parts.join(":"), parts[0]];
}

function complete(context) {
  const text = context.state.doc.toString();
  const before = context.matchBefore(/[?$<]?[\w:/#.%-]*/);
  if (!before || (before.from === before.to && !context.explicit)) return null;
  const typed = before.text;
  if (/^[?$]/.test(typed)) {
    const names = new Set([...text.matchAll(/[?$]\w+/g)].map(([found]) => `?${found.slice(1)}`));
    names.delete(`?${typed.slice(1)}`);
    return { from: before.from, options: [...names].map((label) => ({ label, type: "variable" })), validFor: /^[?$]\w*$/ };
  }
  const spaces = new Map([...declared(text)].map(([prefix, space]) => [space, prefix]));
  const start = context.state.sliceDoc(Math.max(0, before.from - 300), before.from);
  const declaring = /PREFIX\s+$/i.test(start);
  if (declaring) {
    const options = Object.entries(words.prefixes).map(([prefix, space]) => ({
      label: `${prefix}:`, detail: space, apply: `${prefix}: <${space}>\n`, type: "namespace",
    }));
    return { from: before.from, options };
  }
  const classes = /(?:\ba|rdf:type)\s+$|\bVALUES\b[^}]*$/.test(start);
  const option = ({ term, count }, type, boost) => {
    const [label, prefix] = named(term.value, spaces);
    const weight = boost + Math.min(9, Math.log10(count + 1));
    return {
      label, type, boost: Math.round(weight), detail: `${count.toLocaleString("en")} ${type === "class" ? "things" : "facts"}`,
      apply: (view, _, from, to) => insert(view, label, prefix, from, to),
    };
  };
  return {
    from: before.from,
    options: [
      ...words.classes.map((word) => option(word, "class", classes ? 60 : 0)),
      ...words.properties.map((word) => option(word, "property", classes ? 0 : 30)),
      ...Object.keys(words.prefixes).map((prefix) => ({
        label: `${prefix}:`, type: "namespace", detail: words.prefixes[prefix], boost: -20,
        apply: (view, _, from, to) => insert(view, `${prefix}:`, prefix, from, to),
      })),
      ...(typed.includes(":") ? [] : KEYWORDS.map((label) => ({ label, type: "keyword", boost: -10 }))),
    ],
    validFor: /^<?[\w:/#.%-]*$/,
  };
}

/** An editor in an element. run: what Ctrl-Enter does; changed: told the text. */
export const editor = (...given) => (cm ? rich(...given) : plain(...given));

function plain(parent, text, run, changed) {
  const field = h("textarea", { "aria-label": "SPARQL query", spellcheck: "false", rows: 10 });
  field.value = text;
  field.addEventListener("input", () => changed(field.value));
  field.addEventListener("keydown", (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && run());
  parent.append(field);
  return {
    focus: () => field.focus(),
    text: () => field.value,
    set(value) {
      field.value = value;
      changed(value);
    },
    /** Put text before what is there. */
    prepend(more) {
      const { selectionStart, selectionEnd } = field;
      field.value = more + field.value;
      field.setSelectionRange(selectionStart + more.length, selectionEnd + more.length);
      changed(field.value);
    },
    mark(error) {
      field.setAttribute("aria-invalid", String(Boolean(error)));
      if (!error?.line) return;
      const at = field.value.split("\n").slice(0, error.line - 1).join("\n").length + (error.line > 1) + error.column - 1;
      field.setSelectionRange(at, at + 1);
    },
  };
}

function rich(parent, text, run, changed) {
  const view = new cm.EditorView({
    parent,
    doc: text,
    extensions: [
      cm.Prec.highest(cm.keymap.of([{ key: "Mod-Enter", run: () => (run(), true) }])),
      cm.lineNumbers(),
      cm.highlightSpecialChars(),
      cm.history(),
      cm.drawSelection(),
      cm.bracketMatching(),
      cm.closeBrackets(),
      cm.highlightActiveLine(),
      cm.highlightActiveLineGutter(),
      cm.highlightSelectionMatches(),
      cm.autocompletion({ override: [complete], maxRenderedOptions: 60 }),
      cm.StreamLanguage.define(cm.sparql),
      cm.syntaxHighlighting(style),
      cm.EditorView.lineWrapping,
      cm.EditorView.contentAttributes.of({ "aria-label": "SPARQL query", spellcheck: "false" }),
      cm.EditorView.updateListener.of((update) => update.docChanged && changed(update.state.doc.toString())),
      cm.keymap.of([...cm.closeBracketsKeymap, ...cm.completionKeymap, ...cm.searchKeymap, ...cm.historyKeymap,
        ...cm.lintKeymap, ...cm.defaultKeymap]),
    ],
  });
  return {
    focus: () => view.focus(),
    text: () => view.state.doc.toString(),
    set: (value) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value } }),
    prepend: (more) => view.dispatch({ changes: { from: 0, insert: more } }),
    /** Mark where an error is, or with null that there is none. */
    mark(error) {
      const found = [];
      if (error?.line && error.line <= view.state.doc.lines) {
        const line = view.state.doc.line(error.line);
        const from = Math.min(line.from + Math.max(error.column - 1, 0), line.to);
        const to = Math.min(Math.max(view.state.wordAt(from)?.to ?? 0, from + 1), view.state.doc.length);
        found.push({ from: Math.min(from, to), to, severity: "error", message: error.message });
      }
      view.dispatch(cm.setDiagnostics(view.state, found));
    },
  };
}

// What the page uses of other people's code. `make web` bundles it into ../static/vendor.js.
export { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
export { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
export { HighlightStyle, StreamLanguage, bracketMatching, syntaxHighlighting } from "@codemirror/language";
export { sparql } from "@codemirror/legacy-modes/mode/sparql";
export { lintKeymap, setDiagnostics } from "@codemirror/lint";
export { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
export { Compartment, EditorState, Prec } from "@codemirror/state";
export {
  EditorView, drawSelection, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, keymap,
  lineNumbers, placeholder,
} from "@codemirror/view";
export { tags } from "@lezer/highlight";
export { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } from "d3-force";

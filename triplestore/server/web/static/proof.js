// Why a fact holds, or the store is inconsistent: the proof, as a tree down to what was asserted.
import { json } from "./api.js";
import { dialog, fault, h, plural } from "./dom.js";
import { inner, key, meet, show, tag } from "./terms.js";

const text = (term) => {
  if (term.type === "triple") return `<<( ${inner(term).map(text).join(" ")} )>>`;
  if (term.type !== "literal") return term.type === "uri" ? `<${term.value}>` : key(term);
  const quoted = `"${term.value.replace(/[\\"]/g, "\\$&").replace(/\n/g, "\\n").replace(/\r/g, "\\r")}"`;
  return quoted + (tag(term) ? `@${tag(term)}` : term.datatype ? `^^<${term.datatype}>` : "");
};

/** Show why a triple holds. */
export function why(triple) {
  const [subject, predicate, object] = triple.map(text);
  return prove("Why does this hold?", { subject, predicate, object });
}

/** Show what makes the store inconsistent: the numbered violation of a rule. */
export const whyNot = (rule, number) => prove("Why is this inconsistent?", { violation: `${rule}:${number}` });

async function prove(title, asked) {
  const body = h("div", { class: "proof" }, h("p", { class: "waiting" }, "Looking for a proof …"));
  dialog(title, body);
  try {
    const { steps } = await json(`api/explain?${new URLSearchParams(asked)}`);
    steps.flatMap((step) => step.triple ?? []).forEach((term) => term.type === "uri" && meet(term.value));
    const asserted = steps.filter((step) => step.by === "asserted").length;
    const tree = h("ul", { class: "tree" }, item(steps, steps.length - 1, new Set(), 0));
    tree.addEventListener("click", (event) => event.target.closest("a") && body.closest("dialog").close());
    body.replaceChildren(
      h("p", { class: "note" }, `${plural(steps.length - asserted, "step")} from ${plural(asserted, "asserted triple")}. Each line follows from those under it, by the rule named.`),
      tree);
  } catch (error) {
    body.replaceChildren(fault(error));
  }
}

/** A step and what it rests on; a step shown before is not unfolded again. */
function item(steps, place, seen, depth) {
  const { triple, by, premises, conditions = [] } = steps[place];
  const again = seen.has(place) && premises.length > 0;
  seen.add(place);
  const line = h("span", { class: "statement" }, ...(triple ? triple.flatMap((term) => [show(term), " "]) : ["inconsistent "]),
    by === "asserted" ? h("span", { class: "by asserted" }, "asserted") : h("span", { class: "by" }, by));
  if (!(premises.length + conditions.length) || again) return h("li", {}, line, again ? h("span", { class: "note" }, " (see above)") : null);
  const under = h("ul", {}, conditions.map((told) => h("li", {}, h("code", { class: "note" }, told))), premises.map((premise) => item(steps, premise, seen, depth + 1)));
  return h("li", {}, h("details", { open: depth < 4 }, h("summary", {}, line), under));
}

// What a dry run reports.
import { parse } from "./api.js";
import { h, number, plural } from "./dom.js";
import { plain } from "./terms.js";

/** What a dry run of an update says. */
export function effects({ added, deleted, classes_merged: merged = 0, classes_split: split = 0, splits = [], inconsistencies_made: made = 0, inconsistencies_mended: mended = 0 }) {
  return [
    h("p", {}, !deleted && !added ? "No stored fact of the closure would be added or removed." : deleted ? `${plural(deleted, "stored fact")} of the closure would be removed${added ? `, and ${plural(added, "other")} added` : ""}.`
      : `${plural(added, "stored fact")} of the closure would be added.`),
    mended ? h("p", {}, `${plural(mended, "inconsistency", "inconsistencies")} would be resolved.`) : null,
    made ? h("p", { class: "wrong" }, `${plural(made, "inconsistency", "inconsistencies")} would be introduced.`) : null,
    ...parting(merged, split, splits),
  ].filter(Boolean);
}

/** What becomes of classes of equals. */
export function parting(merged, split, splits) {
  return [
    merged ? h("p", {}, `${plural(merged, "class", "classes")} of equals would merge.`) : null,
    split ? h("p", {}, `${plural(split, "class", "classes")} of equals would be split${splits.length < split ? ", among them" : ""}:`) : null,
    splits.length ? h("ul", { class: "splits" }, splits.slice(0, 10).map(({ class: whole, into }) =>
      h("li", {}, `${part(whole)} into ${into.length ? into.map(part).join(", ") : "single terms"}`))) : null,
    h("p", { class: "note" }, "Earlier versions can still be read until vacuum removes them."),
  ].filter(Boolean);
}

/** The members of a class, or a term that is alone, as the server writes terms. */
function part({ term, members, names = [term] }) {
  const more = members - names.length;
  return [...names.map((name) => plain(parse(name))), ...(more > 0 ? [`${number(more)} more`] : [])].join(" = ");
}

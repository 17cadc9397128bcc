// Triples as a drawing: forces find the places; nodes can be dragged, and reached and opened by the keyboard.
import { h, plural } from "./dom.js";
import { folded } from "./folding.js";
import { isResource, key, link, meet, plain, short, show } from "./terms.js";

const d3 = await import("./vendor.js").catch(() => null);

const MOST = 250;
/** How wide a drawing is at least: a few nodes are not blown up. */
const LEAST = 720;
const NAMES = [["subject", "predicate", "object"], ["s", "p", "o"]];

/** The triples of an answer: of a graph, or of rows whose columns are called so; null where it is none, or where what
    draws them was not built in. */
export function edgesOf({ kind, variables, rows }) {
  if (!d3) return null;
  if (kind === "graph") return rows;
  const names = NAMES.find((wanted) => wanted.every((name) => variables.includes(name)));
  if (!names) return null;
  const places = names.map((name) => variables.indexOf(name));
  return rows.map((row) => places.map((place) => row[place])).filter((triple) => triple.every(Boolean));
}

const svg = (tag, attributes = {}, ...children) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

/** Where along its edge a label may be, the best place first. */
const PLACES = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8];

/** The box of an edge's label: left, top, right, bottom. */
const boxOf = (label, x, y) => {
  const half = label.textContent.length * 2.7;
  return [x - half, y - 9, x + half, y + 3];
};

const meetBoxes = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

const trim = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** marked: whether the edge of a triple stands out; without it, labels, classes and equals are no edges. */
export function drawing(triples, marked = null) {
  const nodes = new Map();
  const drawn = triples.slice(0, MOST);
  for (const term of drawn.flat()) if (term.type === "uri") meet(term.value);
  const { edges: kept, ends, classes } = marked ? { edges: drawn, ends: null, classes: [] } : folded(drawn);
  const node = (term, edge) => {
    const end = ends && isResource(term) ? ends.of(term) : null;
    const id = end?.id ?? (isResource(term) ? key(term) : `literal ${edge} ${plain(term)}`);
    if (!nodes.has(id)) nodes.set(id, { id, term: end?.term ?? term, end });
    return nodes.get(id);
  };
  for (const { term, names } of ends?.all ?? []) if (names.length) node(term);
  const links = new Map();
  kept.forEach(([s, p, o], edge) => {
    const source = node(s, edge);
    const target = node(o, edge);
    const id = `${source.id} ${target.id}`;
    if (!links.has(id)) links.set(id, { source, target, names: [], marked: marked?.([s, p, o]) });
    links.get(id).names.push(p.type === "uri" ? short(p.value) : plain(p));
  });
  const all = [...nodes.values()];
  for (const entry of all) {
    const { names = [], label } = entry.end ?? {};
    const also = names.length > 1 ? ` = ${names.length - 1}` : "";
    entry.text = trim(label || plain(entry.term).replace(/^<|>$/g, ""), 26 - also.length) + also;
    entry.named = [...new Set([label, ...(names.length ? names : [entry.term]).map(plain)])].filter(Boolean).join(" = ");
    entry.width = entry.text.length * 6.6 + 20;
  }
  const edges = [...links.values()];
  const tall = innerWidth < innerHeight;
  const picture = svg("svg", { role: "group", "aria-label": `A graph of ${plural(drawn.length, "triple")}` });
  const marker = svg("marker", { id: "arrow", viewBox: "0 0 10 10", refX: 9, refY: 5, markerUnits: "userSpaceOnUse", markerWidth: 9, markerHeight: 9, orient: "auto-start-reverse" }, svg("path", { d: "M0 0 10 5 0 10z" }));
  const scene = svg("g");
  picture.append(svg("defs", {}, marker), scene);

  for (const edge of edges) {
    edge.path = svg("path", { class: edge.marked ? "edge marked" : "edge", "marker-end": "url(#arrow)" });
    edge.label = svg("text", { class: "edge-name" }, trim(edge.names.join(", "), 34));
    scene.append(edge.path, edge.label);
  }
  for (const entry of all) {
    const box = svg("rect", { x: -entry.width / 2, y: -13, width: entry.width, height: 26, rx: isResource(entry.term) ? 13 : 4 });
    const text = svg("text", { class: "node-name", dy: "0.35em" }, entry.text);
    const title = svg("title", {}, entry.end ? entry.named : isResource(entry.term) ? entry.term.value : plain(entry.term));
    const colour = entry.end?.colour >= 0 ? ` class-${entry.end.colour}` : "";
    entry.element = svg("g", { class: `node ${entry.term.type}${colour}` }, box, text, title);
    if (isResource(entry.term)) {
      entry.element.setAttribute("tabindex", "0");
      entry.element.setAttribute("role", "link");
      entry.element.setAttribute("aria-label", entry.named);
      entry.element.addEventListener("keydown", (event) => event.key === "Enter" && (location.hash = link(entry.term)));
    }
    scene.append(entry.element);
    draggable(entry);
  }

  const simulation = d3.forceSimulation(all)
    .force("link", d3.forceLink(edges).distance((edge) => 90 + (edge.source.width + edge.target.width) / 4).strength(0.5))
    .force("charge", d3.forceManyBody().strength(-420))
    .force("collide", d3.forceCollide((entry) => entry.width / 2 + 8).strength(0.7))
    .force("x", d3.forceX().strength(tall ? 0.09 : 0.05))
    .force("y", d3.forceY().strength(tall ? 0.05 : 0.09))
    .stop();
  simulation.tick(Math.min(300, Math.ceil(20_000 / (all.length + 1)) + 60));
  place();
  fit();
  simulation.on("tick", place).alphaMin(0.02);

  function place() {
    for (const { element, x, y } of all) element.setAttribute("transform", `translate(${x} ${y})`);
    const taken = all.map(({ x, y, width: w }) => [x - w / 2, y - 13, x + w / 2, y + 13]);
    for (const { source, target, path, label } of edges) {
      if (source === target) {
        const { x, y } = source;
        path.setAttribute("d", `M${x - 12} ${y - 13}C${x - 40} ${y - 62} ${x + 40} ${y - 62} ${x + 12} ${y - 13}`);
        label.setAttribute("transform", `translate(${x} ${y - 54})`);
        taken.push(boxOf(label, x, y - 54));
        continue;
      }
      const [ax, ay] = border(source, target);
      const [bx, by] = border(target, source);
      path.setAttribute("d", `M${ax} ${ay}L${bx} ${by}`);
      const places = PLACES.map((share) => [ax + (bx - ax) * share, ay + (by - ay) * share - 4]);
      const free = places.find(([x, y]) => !taken.some((other) => meetBoxes(other, boxOf(label, x, y)))) ?? places[0];
      label.setAttribute("transform", `translate(${free[0]} ${free[1]})`);
      taken.push(boxOf(label, ...free));
    }
  }

  /** Where the line from a node to another leaves its box. */
  function border(from, to) {
    const dx = to.x - from.x || 0.01;
    const dy = to.y - from.y || 0.01;
    const scale = Math.min((from.width / 2 + 3) / Math.abs(dx), 16 / Math.abs(dy));
    return [from.x + dx * Math.min(scale, 0.5), from.y + dy * Math.min(scale, 0.5)];
  }

  function fit() {
    const left = Math.min(...all.map((e) => e.x - e.width / 2)) - 20;
    const right = Math.max(...all.map((e) => e.x + e.width / 2)) + 20;
    const top = Math.min(...all.map((e) => e.y)) - 50;
    const bottom = Math.max(...all.map((e) => e.y)) + 40;
    const width = Math.max(right - left, Math.min(LEAST, innerWidth * 0.75));
    box((left + right - width) / 2, top, width, bottom - top);
  }

  function box(...values) {
    picture.setAttribute("viewBox", values.join(" "));
  }

  const seen = () => picture.getAttribute("viewBox").split(" ").map(Number);

  /** A point of the screen in the drawing. */
  function point(event) {
    return new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse());
  }

  function zoom(factor, centre) {
    const [x, y, w, t] = seen();
    const at = centre ?? { x: x + w / 2, y: y + t / 2 };
    box(at.x - (at.x - x) * factor, at.y - (at.y - y) * factor, w * factor, t * factor);
  }

  function draggable(entry) {
    entry.element.addEventListener("pointerdown", (event) => {
      event.stopPropagation();
      entry.element.setPointerCapture(event.pointerId);
      let moved = false;
      const move = (moving) => {
        const at = point(moving);
        moved ||= Math.hypot(moving.clientX - event.clientX, moving.clientY - event.clientY) > 4;
        [entry.fx, entry.fy] = [at.x, at.y];
        simulation.alpha(0.2).restart();
      };
      entry.element.addEventListener("pointermove", move);
      entry.element.addEventListener("pointerup", () => {
        entry.element.removeEventListener("pointermove", move);
        if (!moved && isResource(entry.term)) location.hash = link(entry.term);
      }, { once: true });
    });
  }

  picture.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.12 : 1 / 1.12, point(event));
  }, { passive: false });
  picture.addEventListener("pointerdown", (event) => {
    const start = point(event);
    picture.setPointerCapture(event.pointerId);
    const move = (moving) => {
      const [x, y, w, t] = seen();
      const at = point(moving);
      box(x + start.x - at.x, y + start.y - at.y, w, t);
    };
    picture.addEventListener("pointermove", move);
    picture.addEventListener("pointerup", () => picture.removeEventListener("pointermove", move), { once: true });
  });

  return h("div", { class: "graph card" },
    h("div", { class: "zoom" },
      h("button", { class: "icon", type: "button", "aria-label": "Zoom in", onclick: () => zoom(1 / 1.3) }, "+"),
      h("button", { class: "icon", type: "button", "aria-label": "Zoom out", onclick: () => zoom(1.3) }, "−"),
      h("button", { class: "icon", type: "button", "aria-label": "Fit to view", onclick: fit }, "⤢")),
    picture,
    classes.length ? h("p", { class: "note legend" }, classes.map((one, colour) => h("span", { class: `class-${colour}` }, show(one)))) : null,
    triples.length > MOST ? h("p", { class: "note" }, `Only the first ${MOST} of ${plural(triples.length, "triple")} are drawn.`) : null);
}

// Making elements, and small things that every part of the page uses.

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** What this browser keeps under a key: null where there is nothing, or it keeps nothing. */
export function stored(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Have this browser keep a text, if it has room. */
export function keep(key, text) {
  try {
    localStorage.setItem(key, text);
  } catch { /* it is full, or keeps nothing: the page works without */ }
}

export const number = (value) => Number(value).toLocaleString("en");

export const plural = (count, word, words = `${word}s`) => `${number(count)} ${count === 1 ? word : words}`;

/** Tell who cannot see it (a live region). */
export function say(text) {
  document.getElementById("status").textContent = text;
}

export function fault(error) {
  return h("div", { class: "fault", role: "alert" }, h("strong", {}, error.status === 400 ? "The request has an error" : error.title ?? "Something went wrong"), h("p", {}, error.message));
}

/** A dialog that closes by Escape, its button, a click beside it, or when another page is shown. */
export function dialog(title, ...content) {
  const close = h("button", { class: "icon", type: "button", "aria-label": "Close", onclick: () => element.close() }, "✕");
  const element = h("dialog", { "aria-label": title }, h("header", {}, h("h2", {}, title), close), ...content);
  element.addEventListener("click", (event) => event.target === element && element.close());
  const leave = () => element.close();
  addEventListener("hashchange", leave);
  element.addEventListener("close", () => {
    removeEventListener("hashchange", leave);
    element.remove();
  });
  document.body.append(element);
  element.showModal();
  return element;
}

// Building elements, and values as people read them.

/** Makes an element. Properties: class, data-…, aria-… and other attributes; on… listeners; booleans switch. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter(child => child !== undefined && child !== null && child !== false));
  return element;
}

let nextId = 0;

/** A control with its visible label. */
export function field(label, control, hint) {
  control.id ||= `field-${++nextId}`;
  const text = h("label", {for: control.id}, label);
  if (!hint) return h("div", {class: "field"}, text, control);
  const note = h("small", {id: `${control.id}-hint`}, hint);
  control.setAttribute("aria-describedby", note.id);
  return h("div", {class: "field"}, text, control, note);
}

export const select = (options, properties = {}) =>
  h("select", properties, options.map(([value, label]) => h("option", {value}, label)));

/** A message in place of content: still loading, empty, or failed. */
export const note = (text, kind = "") => h("p", {class: `note ${kind}`, role: kind === "bad" ? "alert" : null}, text);

export const card = (title, ...children) => h("section", {class: "card"}, h("h2", {}, title), ...children);

/** Term and definition pairs; those without a value are left out. */
export const facts = pairs => h("dl", {class: "facts"}, pairs
  .filter(([, value]) => value !== undefined && value !== null)
  .map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value))));

export const badge = (text, kind = "") => h("span", {class: `badge ${kind}`}, text);

export const link = (text, href) => h("a", {href}, text);

// Numbers and times

export const number = value => value === undefined || value === null ? "–"
  : Number(value).toLocaleString("en", {maximumFractionDigits: Math.abs(value) < 10 ? 2 : 0});

export function bytes(value) {
  if (value === undefined || value === null) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < units.length - 1) { value /= 1024; unit++; }
  return `${number(value)} ${units[unit]}`;
}

export function duration(ms) {
  if (ms === undefined || ms === null) return "–";
  if (Math.abs(ms) < 1000) return `${number(ms)} ms`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

export const clock = ms => new Date(ms).toLocaleTimeString("en-GB", {hour12: false}) +
  "." + String(Math.floor(ms % 1000)).padStart(3, "0");

export const percent = share => `${number(share * 100)} %`;

export const short = text => !text ? "–" : text.length > 12 ? text.slice(0, 12) + "…" : text;

export const plural = (count, one, many = one + "s") => `${number(count)} ${count === 1 ? one : many}`;

/** Replaces content without moving the focus or the scroll position of what stays. */
export function show(place, ...children) { place.replaceChildren(...children.flat(Infinity).filter(Boolean)); }

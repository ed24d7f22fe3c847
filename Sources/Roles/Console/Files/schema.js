// The schema as nodes serve it: tables with their fields, and the generated schema as text.

import {get} from "./api.js";
import {badge, card, field, h, note, plural, show} from "./dom.js";

export async function open(place, {signal}) {
  const search = h("input", {type: "search", name: "search", autocomplete: "off"});
  const state = h("p", {class: "hint", role: "status", id: "schema-state"});
  const list = h("div", {class: "grid"});
  const text = h("pre", {tabindex: 0, "aria-label": "Generated schema"});
  show(place, h("div", {class: "filters"}, field("Type or field contains", search)), state, list,
    h("details", {class: "card"}, h("summary", {}, "The generated schema as SDL"), text));
  let tables = [];
  function draw() {
    const wanted = search.value.trim().toLowerCase();
    const found = tables.filter(({type, fields}) =>
      [type, ...fields.map(({field}) => field)].some(name => name.toLowerCase().includes(wanted)));
    state.textContent = `${plural(found.length, "type")} of ${tables.length}.`;
    show(list, found.map(drawTable));
  }
  search.addEventListener("input", draw);
  try {
    const found = await get("/admin/v1/schema", {signal});
    tables = found.tables;
    text.textContent = found.sdl;
    draw();
  } catch (error) {
    if (!signal.aborted) show(list, note(error.message, "bad"));
  }
}

const drawTable = ({type, table, isView, key, fields, references, indexes}) => card(type,
  h("p", {class: "hint"}, isView ? "View " : "Table ", h("code", {}, table),
    indexes.length ? `, indexes ${indexes.map(fields => `(${fields.join(", ")})`).join(", ")}` : ""),
  h("ul", {class: "fields"}, fields.map(({field, type}) => h("li", {}, h("code", {}, `${field}: ${type}`),
    key.includes(field) ? [" ", badge("key", "ok")] : "")),
  references.map(({field, type, by}) => h("li", {}, h("code", {}, `${field}: ${type}`), ` by ${by.join(", ")}`))));

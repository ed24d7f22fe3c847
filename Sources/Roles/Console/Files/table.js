// <live-table>: a sortable table that puts only the visible rows of a long list into the page.

import {h} from "./dom.js";

const rowHeight = 36;
const wholeMax = 150;

/**
 * Properties: `columns`, each {name, label, isNumber?, show?(row), order?(row)}; `rows`; `label`; `empty`, the text
 * without rows.
 */
class LiveTable extends HTMLElement {
  #rows = [];
  #sorted = [];
  #sort = {name: "", isDown: false};
  #frame;
  columns = [];
  label = "";
  empty = "Nothing here.";

  connectedCallback() {
    if (this.#frame) return;
    this.head = h("thead", {}, h("tr", {}, this.columns.map(column => {
      const button = h("button", {type: "button", onclick: () => this.#sortBy(column)}, column.label);
      return h("th", {scope: "col", class: column.isNumber ? "number" : null, "data-name": column.name}, button);
    })));
    this.body = h("tbody");
    this.table = h("table", {"aria-label": this.label}, this.head, this.body);
    this.#frame = h("div", {class: "table", tabindex: "0", role: "region", "aria-label": this.label}, this.table);
    this.#frame.addEventListener("scroll", () => this.#draw(), {passive: true});
    this.append(this.#frame);
    this.#order();
  }

  get rows() { return this.#rows; }
  set rows(rows) { this.#rows = rows; if (this.#frame) this.#order(); }

  #sortBy({name, isNumber}) {
    const isSame = this.#sort.name === name;
    this.#sort = {name, isDown: isSame ? !this.#sort.isDown : Boolean(isNumber)};
    this.#order();
  }

  #order() {
    const column = this.columns.find(({name}) => name === this.#sort.name);
    this.#sorted = this.#rows;
    if (column) {
      const value = column.order ?? (row => row[column.name]);
      const down = this.#sort.isDown ? -1 : 1;
      this.#sorted = [...this.#rows].sort((a, b) => {
        const [left, right] = [value(a) ?? "", value(b) ?? ""];
        return (left < right ? -1 : left > right ? 1 : 0) * down;
      });
    }
    for (const cell of this.head.rows[0].cells) {
      const isSorted = column && cell.dataset.name === column.name;
      if (isSorted) cell.setAttribute("aria-sort", this.#sort.isDown ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    }
    this.table.setAttribute("aria-rowcount", String(this.#sorted.length + 1));
    this.#frame.classList.toggle("long", this.#sorted.length > wholeMax);
    this.#draw();
  }

  #draw() {
    const count = this.#sorted.length;
    if (count === 0) {
      this.body.replaceChildren(h("tr", {}, h("td", {colspan: this.columns.length, class: "empty"}, this.empty)));
      return;
    }
    let [first, last] = [0, count];
    if (count > wholeMax) {
      first = Math.max(0, Math.floor(this.#frame.scrollTop / rowHeight) - 10);
      last = Math.min(count, first + Math.ceil((this.#frame.clientHeight || 600) / rowHeight) + 20);
    }
    // The focus stays on the control in its place.
    const focused = this.body.contains(document.activeElement) ? document.activeElement : undefined;
    const place = focused?.closest("tr")?.getAttribute("aria-rowindex");
    this.body.replaceChildren(
      this.#gap(first), ...this.#sorted.slice(first, last).map((row, index) => this.#row(row, first + index)),
      this.#gap(count - last));
    if (place) this.body.querySelector(`tr[aria-rowindex="${place}"] :is(a, button)`)?.focus({preventScroll: true});
  }

  #gap(rows) {
    const gap = h("tr", {"aria-hidden": "true", class: "gap"}, h("td", {colspan: this.columns.length}));
    gap.style.height = `${rows * rowHeight}px`;
    gap.hidden = rows === 0;
    return gap;
  }

  #row(row, index) {
    return h("tr", {"aria-rowindex": index + 2}, this.columns.map(column => {
      const shown = column.show ? column.show(row) : row[column.name] ?? "–";
      const properties = {class: column.isNumber ? "number" : null};
      if (typeof shown === "string" && shown.length > 24) properties.title = shown;
      return h("td", properties, shown);
    }));
  }
}

customElements.define("live-table", LiveTable);

export function table(properties) {
  return Object.assign(document.createElement("live-table"), properties);
}

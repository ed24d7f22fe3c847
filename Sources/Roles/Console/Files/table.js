// <live-table>: a sortable table that puts only the visible rows of a long list into the page.

import {h} from "./dom.js";

const rowHeight = 36;
const wholeMax = 150;

/**
 * Properties: `columns`, each {name, label, isNumber?, show?(row), order?(row)}; `rows`, with their key in the first
 * column; `label`; `empty`, the text without rows.
 *
 * New rows change only the cells that differ, so the focus and what is selected stay.
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
    let [first, last] = [0, count];
    if (count > wholeMax) {
      first = Math.max(0, Math.floor(this.#frame.scrollTop / rowHeight) - 10);
      last = Math.min(count, first + Math.ceil((this.#frame.clientHeight || 600) / rowHeight) + 20);
    }
    const restore = this.body.contains(document.activeElement) ? this.keeper(document.activeElement) : undefined;
    // Rows of equal keys are told apart by their order.
    const keys = new Map();
    const rows = this.#sorted.slice(first, last).map((row, index) => {
      const key = String(row[this.columns[0].name]);
      keys.set(key, (keys.get(key) ?? 0) + 1);
      return this.#row(row, first + index, `${keys.get(key)} ${key}`);
    });
    this.#place(count ? [this.#gap(first, "before"), ...rows, this.#gap(count - last, "after")]
      : [h("tr", {"data-key": "empty"}, h("td", {colspan: this.columns.length, class: "empty"}, this.empty))]);
    if (restore && !this.body.contains(document.activeElement)) restore();
  }

  /** Returns a function that focuses a control in the row of the same key again, or the table if the row is gone. */
  keeper(control) {
    const row = control.closest("tbody tr");
    if (!row) return () => control.focus();
    const at = controls(row).indexOf(control);
    return () => {
      const now = [...this.body.rows].find(({dataset}) => dataset.key === row.dataset.key);
      ((now && controls(now)[at]) ?? this.#frame).focus({preventScroll: true});
    };
  }

  /** Puts rows into the page; a row of the same key that is there already takes over the cells that differ. */
  #place(rows) {
    const former = new Map([...this.body.rows].map(row => [row.dataset.key, row]));
    const kept = rows.map(row => {
      const old = former.get(row.dataset.key);
      former.delete(row.dataset.key);
      if (!old || old.cells.length !== row.cells.length) { old?.remove(); return row; }
      [...row.cells].forEach((cell, index) => {
        if (!cell.isEqualNode(old.cells[index])) old.cells[index].replaceWith(cell);
      });
      old.ariaRowIndex = row.ariaRowIndex;
      old.style.height = row.style.height;
      old.hidden = row.hidden;
      return old;
    });
    for (const row of former.values()) row.remove();
    // What is in its place is not moved: that would take the focus.
    let next = this.body.firstElementChild;
    for (const row of kept) {
      if (row === next) next = next.nextElementSibling; else this.body.insertBefore(row, next);
    }
  }

  #gap(rows, name) {
    const gap = h("tr", {"aria-hidden": "true", class: "gap", "data-key": `gap ${name}`},
      h("td", {colspan: this.columns.length}));
    gap.style.height = `${rows * rowHeight}px`;
    gap.hidden = rows === 0;
    return gap;
  }

  #row(row, index, key) {
    return h("tr", {"aria-rowindex": index + 2, "data-key": key}, this.columns.map(column => {
      const shown = column.show ? column.show(row) : row[column.name] ?? "–";
      const properties = {class: column.isNumber ? "number" : null};
      if (typeof shown === "string" && shown.length > 24) properties.title = shown;
      return h("td", properties, shown);
    }));
  }
}

const controls = row => [...row.querySelectorAll("a, button")];

customElements.define("live-table", LiveTable);

export function table(properties) {
  return Object.assign(document.createElement("live-table"), properties);
}

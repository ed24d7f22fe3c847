// A question before something that cannot be undone.

import {h} from "./dom.js";

let count = 0;

/**
 * Asks in a dialog; the focus is on "Cancel", and Escape cancels. Returns whether it is confirmed. Afterwards the
 * control that had the focus has it again, also in a table that was redrawn in between.
 */
export function confirmed(title, text, action) {
  return new Promise(resolve => {
    const id = `confirm-${++count}`;
    const former = document.activeElement;
    const restore = former?.closest("live-table")?.keeper(former) ?? (() => former?.focus());
    const cancel = h("button", {value: "no"}, "Cancel");
    const dialog = h("dialog", {class: "confirm", "aria-labelledby": id, onclose: () => {
      const isConfirmed = dialog.returnValue === "yes";
      dialog.remove();
      restore();
      resolve(isConfirmed);
    }}, h("form", {method: "dialog"}, h("h2", {id}, title), h("p", {}, text),
      h("div", {class: "row"}, cancel, h("button", {value: "yes", class: "primary danger"}, action))));
    document.body.append(dialog);
    dialog.showModal();
    cancel.focus();
  });
}

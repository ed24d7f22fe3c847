// What the rules refuse the caller: its actions are switched off, with the reason.

let refused = {};

/** - Parameter found: the reasons by path, from the report `console`. */
export function setRefused(found) { refused = found ?? {}; }

/** Why the caller may not act at a path such as `/admin/v1/sessions/{session}/end`; undefined if it may. */
export const refusal = path => refused[path];

/**
 * Properties of a button that acts at a path. A refused one stays in the order of the focus, so that its reason can be
 * read: it is described by its title.
 */
export const allowed = (path, properties) => refused[path]
  ? {...properties, "aria-disabled": "true", title: refused[path], onclick: event => event.preventDefault()}
  : properties;

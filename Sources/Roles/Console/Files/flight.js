// The flight recorder of a user: everything that happens to its sessions, on a time axis and as a table.

import {follow, post, query} from "./api.js";
import {badge, bytes, card, clock, duration, field, h, link, note, number, plural, select, show} from "./dom.js";
import {allowed, refusal} from "./access.js";
import {confirmed} from "./confirm.js";
import {missing} from "./sessions.js";
import {table} from "./table.js";

const levels = {began: "ok", renewed: "ok", delivered: "delivery", followed: "event", refused: "critical",
  failed: "critical", expired: "warning", ended: "warning"};
const known = ["atMs", "node", "kind", "session", "operation", "count", "bytes"];

/** What an entry says beyond its kind. */
function details(entry) {
  const parts = Object.entries(entry).filter(([name]) => !known.includes(name)).map(([name, value]) =>
    name === "tokenExpiresInMs" ? `token expires in ${duration(value)}` : name === "reason" ? value
      : `${name} ${value}`);
  if (entry.kind === "delivered") parts.unshift(`${plural(entry.count, "result")}, ${bytes(entry.bytes)}`);
  return parts.join(", ") || "–";
}

export async function open(place, {signal, values}) {
  const uid = h("input", {name: "uid", value: values.uid ?? "", required: true, autocomplete: "off"});
  const minutes = select([["10", "10 minutes"], ["60", "1 hour"], ["360", "6 hours"]], {name: "minutes"});
  const state = h("p", {class: "hint", role: "status", id: "flight-state"});
  const body = h("div");
  show(place, h("form", {class: "filters", onsubmit: event => {
    event.preventDefault();
    location.hash = "#/flight" + query({uid: uid.value.trim()});
  }}, field("User", uid), h("button", {class: "primary"}, "Show")), state, body);
  if (!values.uid) {
    state.textContent = "Name a user: the recorder notes everything that happens to its sessions on all nodes.";
    return;
  }
  const asked = query({uid: values.uid});
  let wake = () => {};
  const act = path => async () => {
    try { await post(path()); } catch (error) { state.textContent = error.message; }
    wake();
  };
  const start = h("button", allowed("/admin/v1/flight/record", {type: "button", id: "flight-start",
    onclick: act(() => "/admin/v1/flight/record" + query({uid: values.uid, forMs: minutes.value * 60000}))}), "Record");
  const stop = h("button", allowed("/admin/v1/flight/stop",
    {type: "button", onclick: act(() => "/admin/v1/flight/stop" + asked)}), "Stop and forget");
  const revoke = h("button", {type: "button", class: "danger", title: refusal("/admin/v1/revocations"),
    "aria-disabled": refusal("/admin/v1/revocations") ? "true" : null, onclick: async () => {
    if (refusal("/admin/v1/revocations")) return;
    if (!await confirmed(`Revoke ${values.uid}?`, "All its sessions end, and its tokens are refused on all nodes until "
      + "the revocation is lifted.", "Revoke")) return;
    try {
      state.textContent = `${(await post("/admin/v1/revocations" + asked)).done}.`;
    } catch (error) { state.textContent = error.message; }
  }}, "Revoke user");
  const axis = h("div", {class: "axis", "aria-hidden": "true"});
  const gaps = h("div");
  const sessions = table({label: "Sessions now", empty: "The user has no session.", columns: [
    {name: "session", label: "Session", show: row => link(row.session, `#/why?session=${row.session}`)},
    {name: "protocol", label: "Protocol"}, {name: "client", label: "Client", show: row => row.client || "–"},
    {name: "subscriptions", label: "Live queries", isNumber: true},
    {name: "sinceMs", label: "Since", isNumber: true, show: row => duration(row.sinceMs)},
    {name: "peer", label: "Address"},
  ]});
  const entries = table({label: "What happened", empty: "Nothing was recorded yet.", columns: [
    {name: "atMs", label: "Time", show: row => clock(row.atMs)},
    {name: "kind", label: "What", show: row => badge(row.kind, levels[row.kind] ?? "")},
    {name: "session", label: "Session"}, {name: "operation", label: "Operation"},
    {name: "details", label: "Details", show: details, order: details},
  ]});
  show(body, h("div", {class: "filters"}, field("For", minutes), start, stop, revoke), gaps,
    card("Time axis", axis), entries, h("h2", {}, "Sessions now"), sessions);
  wake = follow(signal, {
    path: () => "/admin/v1/flight" + asked,
    show(flight) {
      start.textContent = flight.isArmed ? "Record longer" : "Record";
      state.textContent = (flight.isArmed ? `Recording until ${clock(flight.untilMs).slice(0, 8)}. `
        : "Not recording. ") + `${plural(flight.entries.length, "entry", "entries")}` +
        (flight.dropped ? `, ${number(flight.dropped)} older ones were dropped.` : ".");
      sessions.rows = flight.sessions;
      entries.rows = flight.entries;
      draw(axis, flight.entries);
      show(gaps, missing(flight.unreachable));
    },
    failed: error => { state.textContent = error.message; },
  });
}

/** One line for each session with a mark for each entry; the table says the same in words. */
function draw(place, entries) {
  if (!entries.length) return show(place, note("Nothing was recorded yet."));
  const [first, last] = [entries[0].atMs, entries[entries.length - 1].atMs];
  const span = Math.max(1000, last - first);
  const lanes = Map.groupBy ? Map.groupBy(entries, ({session}) => session) : group(entries);
  show(place, [...lanes].map(([session, own]) => h("div", {class: "lane"}, h("span", {}, session),
    h("div", {class: "track"}, own.map(entry => {
      const mark = h("i", {class: `mark ${levels[entry.kind] ?? ""}`, title: `${clock(entry.atMs)} ${entry.kind}`});
      mark.style.left = `${(entry.atMs - first) / span * 99}%`;
      return mark;
    })))), h("div", {class: "lane"}, h("span"), h("div", {class: "ends"}, h("time", {}, clock(first)),
    h("time", {}, clock(last)))));
}

function group(entries) {
  const lanes = new Map();
  for (const entry of entries) lanes.set(entry.session, [...lanes.get(entry.session) ?? [], entry]);
  return lanes;
}

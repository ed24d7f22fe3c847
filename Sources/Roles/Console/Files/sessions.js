// Sessions and live queries of the whole cluster.

import {follow, post, query} from "./api.js";
import {badge, card, duration, field, h, link, note, number, plural, select, short, show} from "./dom.js";
import {refusal} from "./access.js";
import {confirmed} from "./confirm.js";
import {table} from "./table.js";

/** Nodes that did not answer, as a line of text. */
export const missing = unreachable => unreachable?.length
  ? note(`Without ${unreachable.map(({node, reason}) => `${node} (${reason})`).join(", ")}.`, "warning") : "";

const protocols = ["graphql-transport-ws", "graphql-ws", "sql-connect", "long-poll", "sse", "graphql-sse"];

/** A form whose controls call `changed` when they are; `values` returns what they say. */
function filters(controls, changed) {
  const form = h("form", {class: "filters", role: "search", onsubmit: event => { event.preventDefault(); changed(); }},
    controls.map(([label, control]) => field(label, control)));
  form.addEventListener("change", changed);
  return {form, values: () => Object.fromEntries(controls.map(([, control]) => [control.name, control.value.trim()]))};
}

const operationNames = (context, kind) => [["", "all"], ...context.operations
  .filter(operation => !kind || operation.kind === kind).map(({operation}) => [operation, operation])];

export async function openSessions(place, {signal, values, context}) {
  let wake = () => {};
  const {form, values: chosen} = filters([
    ["User", h("input", {name: "user", value: values.user ?? "", autocomplete: "off"})],
    ["Client contains", h("input", {name: "client", value: values.client ?? "", autocomplete: "off"})],
    ["Protocol", h("input", {name: "protocol", list: "protocols", value: values.protocol ?? "", autocomplete: "off"})],
    ["Operation", select(operationNames(context, "query"), {name: "operation", value: values.operation ?? ""})],
  ], () => wake());
  const summary = h("p", {class: "hint", role: "status"});
  const gaps = h("div");
  const list = table({
    label: "Sessions", empty: "No session passes the filter.",
    columns: [
      {name: "session", label: "Session", show: row => link(row.session, `#/why?session=${row.session}`)},
      {name: "user", label: "User", order: row => row.user ?? "",
        show: row => row.user ? link(row.user, "#/flight" + query({uid: row.user})) : "signed out"},
      {name: "protocol", label: "Protocol"}, {name: "client", label: "Client", show: row => row.client || "–"},
      {name: "operations", label: "Follows", show: row => row.operations.join(", ") || "–",
        order: row => row.operations.join()},
      {name: "subscriptions", label: "Live queries", isNumber: true},
      {name: "sinceMs", label: "Since", isNumber: true, show: row => duration(row.sinceMs)},
      {name: "peer", label: "Address"},
      {name: "end", label: "Action", show: row => h("span", {class: "actions"},
        action(row, "End", `End session ${row.session}`, end, "/admin/v1/sessions/{session}/end"),
        row.user ? action(row, "Revoke", `Revoke ${row.user}, ${row.session}`, revoke, "/admin/v1/revocations") : "")},
    ],
  });
  const result = h("div", {role: "status", id: "session-result"});
  const use = adoption();
  show(place, form, h("datalist", {id: "protocols"}, protocols.map(value => h("option", {value}))), result, summary,
    gaps, list, use.clients);

  /** The sessions that an action is under way for. */
  const busy = new Set();
  // A button with `disabled` would lose the focus.
  const action = (row, text, label, work, path) => {
    const isOff = () => busy.has(row.session) || refusal(path);
    return h("button", {type: "button", class: "small", "aria-label": label, title: refusal(path),
      "aria-disabled": isOff() ? "true" : null, onclick: () => isOff() || work(row)}, text);
  };

  /** Asks first, then acts, and says what was done. */
  async function act({session}, question, path) {
    if (!await confirmed(...question)) return;
    busy.add(session);
    list.rows = list.rows;
    try {
      show(result, note(`${(await post(path)).done}.`));
    } catch (error) {
      show(result, note(error.message, "bad"));
    }
    busy.delete(session);
    list.rows = list.rows;
    wake();
  }
  const end = row => act(row, [`End session ${row.session}?`,
    `Its connection closes, and the client${row.user ? ` of ${row.user}` : ""} reconnects.`, "End session"],
  `/admin/v1/sessions/${row.id}/end${query({node: row.node})}`);
  const revoke = row => act(row, [`Revoke ${row.user}?`, "All sessions of the user end, and its tokens "
    + "are refused on all nodes until the revocation is lifted.", "Revoke user"],
  `/admin/v1/revocations${query({uid: row.user})}`);

  wake = follow(signal, {
    path: () => "/admin/v1/sessions" + query({...chosen(), limit: 10000}),
    show(answer) {
      list.rows = answer.sessions.map(row => ({...row, session: `${row.node}/${row.id}`}));
      summary.textContent = `${number(answer.matching)} of ${plural(answer.count, "session")}.`;
      show(gaps, missing(answer.unreachable));
    },
    failed: error => { summary.textContent = error.message; },
  });
  use.follow(signal);
}

/** Cards with the sessions by client and by version: may this client, or this version of an operation, go? */
export function adoption() {
  const sessions = {name: "sessions", label: "Sessions", isNumber: true, show: row => number(row.sessions)};
  const state = {name: "isCurrent", label: "State", show: row => badge(row.isCurrent ? "current" : "former",
    row.isCurrent ? "ok" : "warning")};
  const clients = table({label: "Sessions by client", empty: "Nobody is connected.",
    columns: [{name: "client", label: "Client", show: row => row.client || "unknown"}, sessions]});
  const operations = table({label: "Sessions by version of the operation", empty: "No session follows anything.",
    columns: [{name: "id", label: "Operation", order: row => row.operation, show: row => row.operation},
      {name: "version", label: "Its version", show: row => h("code", {title: row.version}, short(row.version))},
      state, sessions]});
  return {
    clients: card("By client", clients),
    versions: card("In use, by version of the operation", h("p", {class: "hint"}, "Sessions that follow an operation ",
      "in each of its versions. What only a former version selects can go once nobody follows it. Requests outside of ",
      "sessions are not counted."), operations),
    follow: signal => follow(signal, {path: () => "/admin/v1/adoption?limit=1000", isSecond: true, show(answer) {
      clients.rows = answer.clients;
      operations.rows = answer.operations.map(row => ({...row, id: `${row.operation} ${row.version}`}));
    }}),
  };
}

/** The most rows that the server sends. */
const liveQueriesMax = 10000;

export async function openLiveQueries(place, {signal, values, context}) {
  let wake = () => {};
  const {form, values: chosen} = filters([
    ["Operation", select(operationNames(context, "query"), {name: "operation", value: values.operation ?? ""})],
    ["User", h("input", {name: "user", value: values.user ?? "", autocomplete: "off"})],
    ["Key begins with", h("input", {name: "key", type: "search", value: values.key ?? "", autocomplete: "off",
      spellcheck: "false", oninput: () => draw()})],
  ], () => wake());
  const summary = h("p", {class: "hint", role: "status"});
  const gaps = h("div");
  let answer;
  // Of a list that was cut, the server knows keys that the page does not.
  let wasCut = false;
  const list = table({
    label: "Live queries", empty: "No live query is registered.",
    columns: [
      {name: "key", label: "Key", show: row => link(short(row.key), `#/why?key=${row.key}`)},
      {name: "operation", label: "Operation"}, {name: "node", label: "Owner"},
      {name: "shard", label: "Shard", isNumber: true},
      {name: "gateways", label: "Gateways", show: row => row.gateways.join(", "), order: row => row.gateways.length},
      {name: "runs", label: "Runs", isNumber: true, show: row => number(row.runs)},
      {name: "failures", label: "Failures", isNumber: true,
        show: row => row.failures ? badge(number(row.failures), "critical") : "0"},
      {name: "lastRunMs", label: "Last run took", isNumber: true, show: row => duration(row.lastRunMs)},
      {name: "lastRunAgoMs", label: "Last run", isNumber: true,
        show: row => row.lastRunAgoMs === null ? "–" : `${duration(row.lastRunAgoMs)} ago`},
    ],
  });
  show(place, form, summary, gaps, list);
  function draw() {
    if (!answer) return;
    const {key} = chosen();
    list.rows = key ? answer.liveQueries.filter(row => row.key.startsWith(key.toLowerCase())) : answer.liveQueries;
    const rest = answer.matching > answer.liveQueries.length
      ? ` Only ${number(answer.liveQueries.length)} of ${number(answer.matching)} are here: choose an operation, or ` +
        "enter the first digits of the key." : "";
    summary.textContent = `${number(list.rows.length)} shown of ` +
      `${plural(answer.count, "live query", "live queries")}.${rest}`;
    show(gaps, missing(answer.unreachable));
  }
  wake = follow(signal, {
    path() {
      const {operation, user, key} = chosen();
      return "/admin/v1/live-queries" + query({operation, user, key: wasCut ? key : "", limit: liveQueriesMax});
    },
    // A long list is looked at, not watched.
    every: () => wasCut || answer?.liveQueries.length > 1000 ? 20000 : 3000,
    show(found) {
      answer = found;
      wasCut ||= found.matching > found.liveQueries.length;
      draw();
    },
    failed: error => { summary.textContent = error.message; },
  });
}

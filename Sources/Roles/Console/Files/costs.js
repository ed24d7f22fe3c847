// Rules by wasted runs, operations by cost, and what more load would need.

import {get, poll, query} from "./api.js";
import {badge, bytes, card, duration, facts, field, h, link, note, number, percent, select, show} from "./dom.js";
import {missing} from "./sessions.js";
import {table} from "./table.js";
import {edit, recorder} from "./trial.js";

const operationLink = name => link(name, `#/operations?operation=${encodeURIComponent(name)}`);

/** A bar as long as a share, with the share as text. */
export function bar(share, text = percent(share)) {
  const fill = h("span", {class: "fill"});
  fill.style.width = `${Math.min(100, Math.max(0, share * 100))}%`;
  return h("span", {class: "bar"}, fill, h("span", {class: "text"}, text));
}

async function reading(place, signal, work) {
  try { await work(); } catch (error) {
    if (!signal.aborted && error.status) show(place, note(error.message, "bad"));
  }
}

export async function openRules(place, {signal, values, context}) {
  const sum = (row, ending) => row[`key${ending}`] + row[`rule${ending}`] + row[`row${ending}`];
  const wasted = row => row.wasted / (sum(row, "Changed") + row.wasted || 1);
  const list = table({
    label: "Rules by operation", empty: "No rule has caused a run yet.",
    columns: [
      {name: "operation", label: "Operation", show: row => operationLink(row.operation)},
      {name: "wasted", label: "Wasted runs", isNumber: true, show: row => number(row.wasted)},
      {name: "share", label: "Wasted", isNumber: true, order: wasted, show: row => bar(wasted(row))},
      {name: "changed", label: "Useful runs", isNumber: true, order: row => sum(row, "Changed"),
        show: row => number(sum(row, "Changed"))},
      {name: "unnoticed", label: "Unnoticed", isNumber: true, show: row => number(row.unnoticed)},
      {name: "try", label: "Action", show: row => h("button", {type: "button", class: "small",
        "aria-label": `Try a rule of ${row.operation}`, onclick: () => attempt(row.operation, true)}, "Try")},
      {name: "rules", label: "Rules", show: row => row.rules.join("; ")},
    ],
  });
  const gaps = h("div");
  const advice = h("div");
  const trial = h("div");
  let choice = new AbortController();
  const attempt = (operation, isFocused) => {
    // A slow answer does not replace the form of a later choice.
    choice.abort();
    choice = new AbortController();
    const own = AbortSignal.any([choice.signal, signal]);
    return reading(trial, own, () => edit(trial, operation, own, isFocused));
  };
  const queries = select([["", "choose"], ...context.operations.filter(({rules}) =>
    rules?.some(rule => rule.startsWith("onMutationExecuted"))).map(({operation}) => [operation, operation])],
  // The arrow keys change it, too: the focus stays.
  {name: "trial-operation", onchange: event => event.target.value && attempt(event.target.value, false)});
  show(place, h("p", {class: "hint"}, "A run is wasted when its result is the same as before. Many wasted runs of ",
    "a rule call for a narrower condition. Counted since the workers' starts."), gaps, list, advice,
    h("h2", {}, "Try a rule"), h("div", {class: "filters"}, field("Query", queries)), trial, recorder(signal));
  if (values.operation) { queries.value = values.operation; attempt(values.operation, true); }
  await poll(4000, signal, () => reading(gaps, signal, async () => {
    const {operations, unreachable} = await get("/admin/v1/rules", {signal});
    show(gaps, missing(unreachable));
    list.rows = operations;
    const mutations = operations.flatMap(row => row.unnoticedMutations.map(found => ({...found, of: row.operation})));
    show(advice, mutations.length ? card("Changes that no rule noticed", mutations.map(({of, mutation, count, rule}) =>
      h("div", {class: "advice"}, h("p", {}, `${mutation} changed rows that ${of} reads ${number(count)} times. `,
        "This rule would have noticed:"), h("pre", {tabindex: 0}, rule)))) : []);
  }));
}

export async function openTop(place, {signal}) {
  let isTotal = false;
  const pick = row => isTotal ? row.total : row.perMinute;
  const column = (name, label, form = number) =>
    ({name, label, isNumber: true, order: row => pick(row)[name], show: row => form(pick(row)[name])});
  const list = table({
    label: "Costs by operation", empty: "Nothing has run yet.",
    columns: [
      {name: "operation", label: "Operation", show: row => operationLink(row.operation)},
      {name: "share", label: "Share of time", isNumber: true, show: row => bar(row.share)},
      column("runs", "Runs"), column("changed", "Changed"), column("databaseMs", "Database", duration),
      ...["p50", "p95", "p99"].map(name => ({name, label: name, isNumber: true,
        order: row => row.statementMs?.[name] ?? -1, show: row => duration(row.statementMs?.[name])})),
      column("requests", "Requests"), column("requestMs", "Request time", duration),
      column("deliveries", "Deliveries"), column("bytesOut", "Bytes out", bytes),
    ],
  });
  const gaps = h("div");
  const toggle = h("button", {type: "button", "aria-pressed": "false", onclick: () => {
    isTotal = !isTotal;
    toggle.setAttribute("aria-pressed", String(isTotal));
    list.rows = list.rows;
  }}, "Since the start");
  const about = h("p", {class: "hint", role: "status"});
  show(place, h("div", {class: "row"}, about, toggle), gaps, list);
  await poll(3000, signal, () => reading(gaps, signal, async () => {
    const {operations, unreachable, isIdle} = await get("/admin/v1/top?limit=1000", {signal});
    show(gaps, missing(unreachable));
    about.textContent = isIdle ? "Nothing ran within the last minute; shares are of the time since the start."
      : "Per minute, over the last minute. Database is the time of statements that run live queries; " +
        "p50, p95 and p99 are of one such statement, since the nodes' starts.";
    list.rows = operations;
  }));
}

export async function openCapacity(place, {signal, values}) {
  const factor = h("input", {type: "number", min: 1, max: 1000, value: values.factor ?? 10, name: "factor"});
  const body = h("div");
  const per = (value, form, otherwise) => value === null ? otherwise : form(value);
  const load = () => reading(body, signal, async () => {
    const answer = await get("/admin/v1/capacity" + query({factor: factor.value}), {signal});
    const {measured, needed} = answer;
    show(body, missing(answer.unreachable), h("div", {class: "grid"},
      card("Measured", facts([
        ["Sessions now", number(measured.sessions)], ["Deliveries since the start", number(measured.deliveries)],
        ["Runs since the start", number(measured.runs)],
        ["CPU per delivery", per(measured.cpuMsPerDelivery, duration, "no delivery yet")],
        ["Database time per run", per(measured.databaseMsPerRun, duration, "no run yet")],
        ["Time per request", per(measured.requestMsPerRequest, duration, "no request yet")],
        ["Memory per session, at most", per(measured.bytesPerSession, bytes, "no session")],
        ["Statements at once, mean", number(measured.connectionsBusy)],
      ])),
      card(`${number(answer.factor)} times the load would need`, facts([
        ["Nodes", number(needed.nodes)], ["Sessions", number(needed.sessions)],
        ["Statements at once, mean", number(needed.connectionsBusy)],
      ])),
      card("What is measured, what assumed", h("ul", {}, answer.assumptions.map(text => h("li", {}, text))))),
    nodes);
    nodes.rows = answer.nodes;
  });
  const nodes = table({
    label: "Nodes", columns: [
      {name: "node", label: "Node"}, {name: "roles", label: "Roles", show: row => row.roles.join(", ")},
      {name: "coresBusy", label: "Cores busy", isNumber: true,
        show: row => `${number(row.coresBusy)} of ${number(row.cores)}`},
      {name: "peakBytes", label: "Peak memory", isNumber: true, show: row => bytes(row.peakBytes)},
      {name: "sessions", label: "Sessions", isNumber: true, show: row => number(row.sessions)},
      {name: "nodesNeeded", label: "Such nodes needed", isNumber: true,
        show: row => badge(number(row.nodesNeeded), row.nodesNeeded > 1 ? "warning" : "ok")},
    ],
  });
  factor.addEventListener("change", load);
  show(place, h("div", {class: "filters"}, field("Times the present load", factor)), body);
  await poll(5000, signal, load);
}

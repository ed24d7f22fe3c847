// Rules by wasted runs, operations by cost, and what more load would need.

import {follow, query} from "./api.js";
import {badge, bytes, card, clock, duration, facts, field, h, link, note, number, percent, plural, select, show}
  from "./dom.js";
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

const failedIn = place => error => show(place, note(error.message, "bad"));

export async function openRules(place, {signal, values, context}) {
  const isTriable = row => row.kind === "trigger";
  const list = table({
    label: "Rules", empty: "No query of the project has a rule.",
    columns: [
      {name: "id", label: "Operation", order: row => row.operation, show: row => operationLink(row.operation)},
      {name: "fired", label: "Fired", isNumber: true,
        show: row => row.fired ? number(row.fired) : badge("never", "warning")},
      {name: "changed", label: "Changed", isNumber: true, show: row => number(row.changed)},
      {name: "wasted", label: "Wasted", isNumber: true, show: row => number(row.wasted)},
      {name: "wastedShare", label: "Wasted share", isNumber: true,
        show: row => row.fired ? bar(row.wastedShare) : "–"},
      {name: "databaseMs", label: "Database", isNumber: true, show: row => duration(row.databaseMs)},
      {name: "try", label: "Action", show: row => isTriable(row) ? h("button", {type: "button", class: "small",
        "aria-label": `Try a rule of ${row.operation}`, onclick: () => attempt(row.operation, true)}, "Try") : "–"},
      {name: "rule", label: "Rule", show: row => h("code", {title: row.rule}, row.rule)},
    ],
  });
  const counted = h("p", {class: "hint", role: "status", id: "rules-counted"});
  const gaps = h("div");
  const advice = h("div");
  const trial = h("div");
  let choice = new AbortController();
  const attempt = async (operation, isFocused) => {
    // A slow answer does not replace the form of a later choice.
    choice.abort();
    choice = new AbortController();
    const own = AbortSignal.any([choice.signal, signal]);
    try { await edit(trial, operation, own, isFocused); } catch (error) {
      if (!own.aborted) failedIn(trial)(error);
    }
  };
  const queries = select([["", "choose"], ...context.operations.filter(({rules}) =>
    rules?.some(rule => rule.startsWith("onMutationExecuted"))).map(({operation}) => [operation, operation])],
  // The arrow keys change it, too: the focus stays.
  {name: "trial-operation", onchange: event => event.target.value && attempt(event.target.value, false)});
  show(place, h("p", {class: "hint"}, "A rule fires when it causes a run of a live query. The run is wasted when its ",
    "result is the same as before: many wasted runs call for a narrower condition. A run that several rules caused ",
    "counts for each."), counted, gaps, list, advice,
    h("h2", {}, "Try a rule"), h("div", {class: "filters"}, field("Query", queries)), trial, recorder(signal));
  if (values.operation) { queries.value = values.operation; attempt(values.operation, true); }
  follow(signal, {path: () => "/admin/v1/rules", failed: failedIn(gaps), show(report) {
    const {rules, operations, countedForMs, unreachable} = report;
    show(gaps, missing(unreachable));
    const idle = rules.filter(({fired}) => !fired).length;
    counted.textContent = `${plural(idle, "rule")} of ${number(rules.length)} never fired. ` +
      `Counted since the workers' starts, for ${duration(countedForMs)} at least.`;
    list.rows = rules.map(row => ({...row, id: `${row.operation} ${row.rule}`}));
    const mutations = operations.flatMap(row => row.unnoticedMutations.map(found => ({...found, of: row.operation})));
    show(advice, mutations.length ? card("Changes that no rule noticed", mutations.map(({of, mutation, count, rule}) =>
      h("div", {class: "advice"}, h("p", {}, `${mutation} changed rows that ${of} reads ${number(count)} times. `,
        "This rule would have noticed:"), h("pre", {tabindex: 0}, rule)))) : []);
  }});
}

export async function openTop(place, {signal}) {
  let isTotal = false;
  const pick = row => isTotal ? row.total : row.perMinute;
  const times = row => isTotal ? row.statementMs : row.recentStatementMs;
  const column = (name, label, form = number) =>
    ({name, label, isNumber: true, order: row => pick(row)[name], show: row => form(pick(row)[name])});
  const list = table({
    label: "Costs by operation", empty: "Nothing has run yet.",
    columns: [
      {name: "operation", label: "Operation", show: row => operationLink(row.operation)},
      {name: "share", label: "Share of time", isNumber: true, show: row => bar(row.share)},
      column("runs", "Runs"), column("changed", "Changed"), column("databaseMs", "Database", duration),
      ...["p50", "p95", "p99"].map(name => ({name, label: name, isNumber: true,
        order: row => times(row)?.[name] ?? -1, show: row => duration(times(row)?.[name])})),
      column("requests", "Requests"), column("requestMs", "Request time", duration),
      column("deliveries", "Deliveries"), column("bytesOut", "Bytes out", bytes),
    ],
  });
  const gaps = h("div");
  const toggle = h("button", {type: "button", "aria-pressed": "false", onclick: () => {
    isTotal = !isTotal;
    toggle.setAttribute("aria-pressed", String(isTotal));
    list.rows = list.rows;
    tell();
  }}, "Since the start");
  const about = h("p", {class: "hint", role: "status"});
  let isIdleNow = false;
  const tell = () => {
    about.textContent = (isTotal ? "Since the nodes' starts. "
      : isIdleNow ? "Nothing ran within the last minute; shares are of the time since the start. "
        : "Per minute, over the last minute. ") +
      "Database is the time of statements that run live queries; p50, p95 and p99 are of one such statement, " +
      (isTotal ? "since the starts." : "over the last five minutes.");
  };
  show(place, h("div", {class: "row"}, about, toggle), gaps, list);
  follow(signal, {path: () => "/admin/v1/top?limit=1000", failed: failedIn(gaps), show(report) {
    const {operations, unreachable, isIdle} = report;
    show(gaps, missing(unreachable));
    isIdleNow = isIdle;
    tell();
    list.rows = operations;
  }});
}

export async function openCapacity(place, {signal, values}) {
  const factor = h("input", {type: "number", min: 1, max: 1000, value: values.factor ?? 10, name: "factor"});
  const body = h("div");
  const per = (value, form, otherwise) => value === null ? otherwise : form(value);
  const draw = answer => {
    const {measured, needed, busiestMinuteMs} = answer;
    const when = busiestMinuteMs === null ? "since the starts"
      : `in the minute of ${clock(busiestMinuteMs).slice(0, 5)}`;
    show(body, missing(answer.unreachable), h("div", {class: "grid"},
      card(`Measured ${when}`, facts([
        ["Sessions now", number(measured.sessions)], ["Deliveries", number(measured.deliveries)],
        ["Runs", number(measured.runs)],
        ["CPU per delivery", per(measured.cpuMsPerDelivery, duration, "no delivery yet")],
        ["Database time per run", per(measured.databaseMsPerRun, duration, "no run yet")],
        ["Time per request", per(measured.requestMsPerRequest, duration, "no request yet")],
        ["Memory per session, at most", per(measured.bytesPerSession, bytes, "no session")],
        ["Statements at once, mean", number(measured.connectionsBusy)],
        ["Connections to the database", number(measured.connections)],
        ["Database's share", per(measured.databaseShare, percent, "no connection")],
      ])),
      card(`${number(answer.factor)} times the load would need`, facts([
        ["Nodes", number(needed.nodes)], ["Sessions", number(needed.sessions)],
        ["Statements at once, mean", number(needed.connectionsBusy)],
        ["Database's share", per(needed.databaseShare, share => badge(percent(share), share > 0.6 ? "warning" : "ok"),
          "no connection")],
      ])),
      card("What is measured, what assumed", h("ul", {}, answer.assumptions.map(text => h("li", {}, text))))),
    nodes);
    nodes.rows = answer.nodes;
  };
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
  show(place, h("div", {class: "filters"}, field("Times the load", factor)), body);
  const again = follow(signal, {path: () => "/admin/v1/capacity" + query({factor: factor.value}), show: draw,
    failed: failedIn(body)});
  factor.addEventListener("change", again);
}

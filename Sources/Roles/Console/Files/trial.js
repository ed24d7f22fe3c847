// Trials: another condition of a rule on recorded events, and what arms their recording.

import {follow, get, post} from "./api.js";
import {allowed} from "./access.js";
import {badge, bytes, card, clock, field, h, note, number, plural, select, show} from "./dom.js";
import {missing} from "./sessions.js";
import {table} from "./table.js";

const effects = {
  refreshed: ["Refreshed", "by both"], missed: ["Missed", "no more, though the run found another result"],
  spared: ["Spared", "no more, and the run found the same result"],
  unproven: ["Unproven", "no more, and no run tells whether that was needed"],
  added: ["Added", "by the edited rule alone"], unjudged: ["Not judged", "a condition reads a hidden value"],
};
const levels = {missed: "critical", unproven: "warning", unjudged: "warning", spared: "ok", added: "event"};

/** What is recorded, with buttons to begin and end. */
export function recorder(signal) {
  const state = h("p", {class: "hint", role: "status", id: "recording"}, "Asking the workers.");
  const minutes = select([["10", "10 minutes"], ["60", "1 hour"], ["360", "6 hours"]], {name: "minutes"});
  const gaps = h("div");
  let wake = () => {};
  const act = path => async () => {
    try { tell(await post(path())); } catch (error) { show(gaps, note(error.message, "bad")); }
    wake();
  };
  const start = h("button", allowed("/admin/v1/events/record", {type: "button", id: "record",
    onclick: act(() => `/admin/v1/events/record?forMs=${minutes.value * 60000}`)}), "Record events");
  const stop = h("button", allowed("/admin/v1/events/stop",
    {type: "button", hidden: true, onclick: act(() => "/admin/v1/events/stop")}), "Stop");

  function tell({recording, unreachable}) {
    const until = Math.max(0, ...recording.map(node => node.untilMs ?? 0));
    const count = recording.reduce((sum, node) => sum + node.events, 0);
    const size = recording.reduce((sum, node) => sum + node.bytes, 0);
    stop.hidden = !until;
    start.textContent = until ? "Record longer" : "Record events";
    state.textContent = `${plural(count, "event")} recorded (${bytes(size)}). ` +
      (until ? `Recording until ${clock(until).slice(0, 8)}.` : "Nothing is recorded now.");
    show(gaps, missing(unreachable));
  }
  wake = follow(signal, {path: () => "/admin/v1/events/recording", show: tell, isSecond: true,
    failed: error => { state.textContent = error.message; }});
  return card("Recorded events", h("p", {class: "hint"}, "Nothing is recorded by default. A recording ends by itself; ",
    "tokens and redacted values stay hidden."), h("div", {class: "filters"}, field("For", minutes), start, stop), state,
  gaps);
}

/** The form for one query's rules, and the answer. `isFocused` moves the focus to the condition. */
export async function edit(place, operation, signal, isFocused) {
  const [connector, name] = operation.split("/");
  show(place, note("Reading the rules."));
  const found = await get(`/admin/v1/operations/${connector}/${name}`, {signal});
  const rules = (found.rules ?? []).filter(({rule}) => rule === "onMutationExecuted");
  if (!rules.length) return show(place, card(operation, note("The query has no rule on mutations to edit.")));
  const rule = select(rules.map((rule, index) =>
    [String(index + 1), `${index + 1}. ${rule.connector}/${rule.mutation}`]), {name: "rule"});
  const condition = h("textarea", {name: "condition", rows: 3, spellcheck: "false"});
  const fill = () => { condition.value = rules[rule.value - 1].condition ?? ""; };
  rule.addEventListener("change", fill);
  fill();
  const output = h("div", {id: "trial", "aria-live": "polite"});
  const form = h("form", {id: "trial-form", onsubmit: async event => {
    event.preventDefault();
    show(output, note("Asking the recorded events."));
    try {
      draw(output, await post("/admin/v1/rules/try",
        {operation, rule: rule.value, condition: condition.value.trim() || undefined}));
    } catch (error) {
      show(output, note(error.message, "bad"));
      const at = error.message.match(/^(\d+):(\d+) of the condition/);
      if (at) markPlace(condition, Number(at[1]), Number(at[2]));
    }
  }}, field("Rule", rule), field("Condition", condition, "CEL; empty: every execution refreshes. Nothing is changed."),
  h("div", {class: "row"}, h("button", {class: "primary"}, "Try")));
  show(place, card(`Try a rule of ${operation}`, form), output);
  if (!isFocused) return;
  place.scrollIntoView({block: "nearest"});
  condition.focus({preventScroll: true});
}

/** Puts the cursor where the mistake is. */
function markPlace(area, line, column) {
  const lines = area.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0) + column - 1;
  area.focus();
  area.setSelectionRange(start, Math.min(start + 1, area.value.length));
}

function draw(place, trial) {
  const isDoubtful = trial.totals.unproven || trial.totals.unjudged || trial.incomplete.length;
  const worst = trial.totals.missed ? "critical" : isDoubtful ? "warning" : "ok";
  const list = table({label: "Effects by operation", empty: "The rules are the same.", columns: [
    {name: "operation", label: "Operation"},
    ...Object.entries(effects).map(([name, [label]]) => ({name, label, isNumber: true,
      show: row => row[name] && levels[name] ? badge(number(row[name]), levels[name]) : number(row[name])})),
  ]});
  const examples = trial.operations.flatMap(row => row.examples.map(example => ({...example, of: row.operation})));
  const gaps = trial.incomplete.map(text => h("li", {}, text));
  show(place, h("div", {class: `verdict ${trial.events || gaps.length ? worst : ""}`, id: "trial-verdict"},
    trial.sentence, gaps.length ? h("ul", {}, gaps) : ""), list,
    h("details", {class: "hint"}, h("summary", {}, "What the columns count"), h("ul", {},
      Object.values(effects).map(([label, text]) => h("li", {}, `${label}: ${text}`)))),
    examples.length ? card("Examples", h("ul", {class: "events"}, examples.map(example => h("li", {},
      h("p", {}, badge(effects[example.effect][0], levels[example.effect]), " ", `${example.of} `,
        h("code", {}, JSON.stringify(example.variables)),
        ` after ${example.mutation} at ${clock(example.committedAtMs)}`),
      h("p", {class: "reason"}, example.reason))))) : "",
    trial.unjudged.length ? card("Events that cannot be judged", h("ul", {}, trial.unjudged.slice(0, 50).map(event =>
      h("li", {}, `${event.mutation} at ${clock(event.committedAtMs)}, ` +
        `${plural(event.liveQueries, "live query", "live queries")}: ${event.reason}`)))) : "",
    trial.leftOut ? note(`${number(trial.leftOut)} events, runs and live queries did not fit into the recording.`,
      "warning") : "", missing(trial.unreachable));
  list.rows = trial.operations;
}

// The project's operations: run and follow any of them as any user, with a form made from the types of the variables.

import {get, post, query, request, stream} from "./api.js";
import {allowed} from "./access.js";
import {senderForm} from "./sender.js";
import {table} from "./table.js";
import {badge, card, clock, facts, field, h, link, note, number, plural, select, show} from "./dom.js";

/** Values of UUIDs in results, with a text beside them: suggestions for forms. */
const seen = new Map();
const seenMax = 40;

function remember(value) {
  if (Array.isArray(value)) return value.forEach(remember);
  if (!value || typeof value !== "object") return;
  if (typeof value.id === "string") {
    seen.set(value.id, value.title ?? value.name ?? value.text ?? "");
    if (seen.size > seenMax) seen.delete(seen.keys().next().value);
  }
  Object.values(value).forEach(remember);
}

const numbers = new Set(["Int", "Float"]);

/** The control for a variable; `read` returns its value, undefined to leave it out. */
function control(variable) {
  const name = variable.type.replaceAll(/[![\]]/g, "");
  const isList = variable.type.startsWith("[");
  const common = {name: variable.name, required: variable.required, autocomplete: "off", spellcheck: "false"};
  const standard = variable.default;
  if (!isList && (variable.values || name === "Boolean")) {
    const values = variable.values ?? ["true", "false"];
    const options = values.map(value => [value, value]);
    const element = select(variable.required ? options : [["", "not sent"], ...options],
      {...common, value: standard === undefined || standard === null ? undefined : String(standard)});
    return {element, read: () => element.value === "" ? undefined
      : name === "Boolean" ? element.value === "true" : element.value};
  }
  if (!isList && numbers.has(name)) {
    const element = h("input", {...common, type: "number", step: name === "Int" ? 1 : "any", value: standard ?? ""});
    return {element, read: () => element.value === "" ? undefined : Number(element.value)};
  }
  if (!isList && ["String", "UUID", "Date", "Timestamp", "Int64"].includes(name)) {
    const hints = {UUID: "a UUID", Date: "2026-01-31", Timestamp: "2026-01-31T12:00:00Z"};
    const element = h("input", {...common, type: name === "Date" ? "date" : "text", placeholder: hints[name] ?? "",
      list: name === "UUID" ? "seen" : null, value: standard ?? ""});
    return {element, read: () => element.value === "" && (!variable.required || name !== "String")
      ? undefined : element.value};
  }
  const element = h("textarea", {...common, rows: 3, placeholder: isList ? "[…]" : "{…}",
    value: standard === undefined ? "" : JSON.stringify(standard)});
  return {element, read: () => {
    if (element.value.trim() === "") return undefined;
    try { return JSON.parse(element.value); } catch { throw new Error(`${variable.name} is no JSON.`); }
  }};
}

/** <variable-form>: the variables of an operation. `values()` reads them; `fill(values)` sets them. */
class VariableForm extends HTMLElement {
  #controls = [];
  set variables(variables) {
    this.#controls = variables.map(variable => ({variable, ...control(variable)}));
    this.replaceChildren(
      h("datalist", {id: "seen"}, [...seen].map(([value, label]) => h("option", {value}, label))),
      ...this.#controls.map(({variable, element}) => field(variable.name + (variable.required ? " *" : ""), element,
        variable.type)));
  }
  values() {
    const values = {};
    for (const {variable, read} of this.#controls) {
      const value = read();
      if (value !== undefined) values[variable.name] = value;
    }
    return values;
  }
  fill(values) {
    for (const {variable, element} of this.#controls) {
      const value = values[variable.name];
      if (value !== undefined) element.value = typeof value === "object" ? JSON.stringify(value) : String(value);
    }
  }
}
customElements.define("variable-form", VariableForm);

/** Shows JSON, with the lines that the former text does not have marked. */
function result(value, former) {
  const text = JSON.stringify(value, null, 2);
  const counts = new Map();
  for (const line of former?.split("\n") ?? []) counts.set(line, (counts.get(line) ?? 0) + 1);
  const lines = text.split("\n").map(line => {
    const left = counts.get(line) ?? 0;
    if (left) counts.set(line, left - 1);
    return former && !left ? h("mark", {}, line + "\n") : line + "\n";
  });
  return {text, element: h("pre", {class: "result", tabindex: 0, "aria-label": "Result"}, lines)};
}

export async function open(place, {signal, values, context}) {
  const search = h("input", {type: "search", name: "search", autocomplete: "off", placeholder: "Filter"});
  const list = h("ul", {class: "list", id: "operation-list"});
  const detail = h("div", {class: "detail"});
  const chosen = () => context.operations.find(({operation}) => operation === values.operation)
    ?? context.operations.find(({kind}) => kind === "query") ?? context.operations[0];
  function draw() {
    const text = search.value.toLowerCase();
    const shown = context.operations.filter(({operation}) => operation.toLowerCase().includes(text));
    show(list, shown.map(operation => h("li", {}, h("a", {
      href: `#/operations?operation=${encodeURIComponent(operation.operation)}`,
      "aria-current": operation === current ? "true" : null},
    h("span", {}, context.connectors.length > 1 ? operation.operation : operation.name), badge(operation.kind,
      operation.kind)))));
  }
  const current = chosen();
  search.addEventListener("input", draw);
  show(place, h("div", {class: "split narrow"}, h("div", {}, field("Operations", search), list), detail));
  draw();
  list.querySelector("[aria-current]")?.scrollIntoView({block: "nearest"});
  if (!current) return show(detail, note("The project has no operations."));
  openOperation(detail, current, {signal, context, values});
}

function openOperation(place, operation, {signal, context, values}) {
  const isQuery = operation.kind === "query";
  const form = document.createElement("variable-form");
  form.variables = operation.variables;
  if (values.variables) { try { form.fill(JSON.parse(values.variables)); } catch { /* not ours */ } }
  const sender = senderForm();
  const output = h("div", {id: "output"});
  const state = h("p", {class: "hint", role: "status", id: "run-state"});
  let following;
  const call = `/v1/projects/p/locations/${context.location}/services/${context.service}` +
    `/connectors/${operation.connector}:${isQuery ? "impersonateQuery" : "impersonateMutation"}`;
  const run = h("button", isQuery ? {type: "submit", class: "primary"}
    : allowed(mutationPath, {type: "submit", class: "primary"}), "Run");
  const follow = h("button", {type: "button", id: "follow", "aria-pressed": "false",
    disabled: !context.servesLiveQueries,
    title: context.servesLiveQueries ? null : "This node serves no live queries."}, "Follow");

  async function runOnce() {
    const started = performance.now();
    const impersonate = sender.impersonate();
    const response = await request(call, {
      method: "POST", headers: {"content-type": "application/json", ...(isQuery ? {} : {"x-freshet-trace": "1"})},
      body: JSON.stringify({operationName: operation.name, variables: form.values(),
        extensions: impersonate ? {impersonate} : {}})});
    const answer = await response.json();
    const took = performance.now() - started;
    const errors = answer.errors ?? (answer.error ? [answer.error] : answer.message ? [answer] : []);
    remember(answer.data);
    state.textContent = errors.length ? `Refused after ${number(took)} ms.` : `Answered after ${number(took)} ms.`;
    const trace = response.headers.get("x-trace-id");
    show(output, errors.map(error => note(error.message, "bad")), answer.data ? result(answer.data).element : "",
      trace && !isQuery ? h("p", {}, link("Trace this mutation to its deliveries", `#/trace?id=${trace}`)) : "");
  }

  function stopFollowing() {
    following?.abort();
    following = undefined;
    follow.textContent = "Follow";
    follow.setAttribute("aria-pressed", "false");
  }

  function start() {
    const variables = form.values();
    following = new AbortController();
    follow.textContent = "Stop";
    follow.setAttribute("aria-pressed", "true");
    const own = following;
    let [count, former] = [0, undefined];
    state.textContent = "Waiting for the first result.";
    const path = `/admin/v1/follow/${operation.connector}/${operation.name}` +
      query({variables: JSON.stringify(variables), ...sender.query()});
    stream(path, AbortSignal.any([own.signal, signal]), {
      event(name, answer) {
        if (own.signal.aborted) return;
        if (name === "complete") return stopFollowing();
        count += name === "next" ? 1 : 0;
        const errors = answer.errors ?? [];
        remember(answer.data);
        const drawn = answer.data ? result(answer.data, former) : undefined;
        former = drawn?.text ?? former;
        state.textContent = `Following: ${plural(count, "result")}, the last at ${clock(Date.now())}.`;
        show(output, errors.map(error => note(error.message, "bad")), drawn?.element);
      },
      lost(message, isFinal) {
        state.textContent = message;
        if (isFinal) stopFollowing();
      },
    });
  }

  const report = async work => {
    try { await work(); } catch (error) { state.textContent = ""; show(output, note(error.message, "bad")); }
  };
  follow.addEventListener("click", () => report(() => following ? stopFollowing() : start()));
  const whole = h("form", {onsubmit: event => {
    event.preventDefault();
    stopFollowing();
    report(runOnce);
  }}, sender.element, form, h("div", {class: "row"}, run, isQuery ? follow : "", isQuery ? whyLink() : ""));
  function whyLink() {
    return h("button", {type: "button", class: "plain", onclick: () => report(() => {
      const {uid, claims} = sender.query();
      location.hash = "#/why" + query({operation: operation.operation, variables: JSON.stringify(form.values()),
        uid, claims});
    })}, "Why is it stale?");
  }
  const plan = planCard(operation, () => ({variables: form.values(), sender: sender.query()}), signal);
  show(place, card(operation.operation,
    facts([["Kind", operation.kind], ["Access", operation.auth],
      ["Refreshed by", isQuery ? operation.rules.length ? h("ul", {}, operation.rules.map(rule => h("li", {}, rule)))
        : "nothing: followers get the first result only" : undefined]]),
    whole, state, output), isQuery ? plan : "", explanation(operation, signal));
  signal.addEventListener("abort", stopFollowing, {once: true});
}

/** Postgres' plan for the variables and the user of the form, on demand. */
function planCard(operation, chosen, signal) {
  const output = h("div", {id: "plan", "aria-live": "polite"});
  const ask = isMeasured => async () => {
    show(output, note(isMeasured ? "Running it once." : "Asking Postgres."));
    try {
      const {variables, sender} = chosen();
      const path = query({operation: operation.operation, variables: JSON.stringify(variables), uid: sender.uid,
        claims: sender.claims});
      const found = isMeasured ? await post("/admin/v1/plan/analyze" + path)
        : await get("/admin/v1/plan" + path, {signal});
      const scans = table({label: "Tables that the plan reads", empty: "It reads no table.", columns: [
        {name: "table", label: "Table"}, {name: "node", label: "Scan"}, {name: "index", label: "Index"},
        {name: "rowsRead", label: "Rows read", isNumber: true, show: row => number(row.rowsRead)},
        {name: "rowsKept", label: "Rows kept", isNumber: true,
          show: row => row.isWasteful ? badge(number(row.rowsKept), "warning") : number(row.rowsKept)},
        {name: "filter", label: "Filter"},
      ]});
      const isWasteful = found.scans.some(scan => scan.isWasteful);
      show(output, h("div", {class: `verdict ${isWasteful ? "warning" : "ok"}`, id: "plan-verdict"},
        found.sentences.map(text => h("p", {}, text)),
        found.executionMs === undefined ? "" : h("p", {}, `It took ${number(found.executionMs)} ms.`)), scans,
       h("details", {}, h("summary", {}, "The whole plan"), h("pre", {tabindex: 0},
        JSON.stringify(found.plan, null, 2))));
      scans.rows = found.scans;
    } catch (error) { show(output, note(error.message, "bad")); }
  };
  return card("Plan", h("p", {class: "hint"}, "For the variables and the user above. Measure runs the query once, ",
    "read-only, for at most 5 seconds."), h("div", {class: "row"},
    h("button", {type: "button", id: "explain", onclick: ask(false)}, "Explain"),
    h("button", allowed("/admin/v1/plan/analyze", {type: "button", onclick: ask(true)}), "Measure")), output);
}

/** SQL, rules and relations, loaded when they are opened. */
function explanation(operation, signal) {
  const body = h("div");
  let isLoaded = false;
  return h("details", {class: "card", ontoggle: async event => {
    if (!event.target.open || isLoaded) return;
    isLoaded = true;
    try {
      const found = await get(`/admin/v1/operations/${operation.connector}/${operation.name}`, {signal});
      const sql = found.sql ? [["SQL", found.sql.single], ["SQL for many live queries", found.sql.multiplexed]]
        : found.steps.map(step => [step.field, step.sql ?? "depends on the rows given"]);
      const relations = [...(found.refreshedBy ?? []), ...(found.refreshes ?? [])];
      show(body, found.rules?.length ? [h("h3", {}, "Rules, and how events find their live queries"),
        h("ul", {class: "rules"}, found.rules.map(drawRule))] : "",
      sql.map(([name, text]) => [h("h3", {}, name), h("pre", {tabindex: 0}, text)]),
        h("h3", {}, found.kind === "query" ? "Refreshed by" : "Refreshes"),
        relations.length ? h("ul", {}, relations.map(other => h("li", {}, `${other.connector}/${other.operation}: `,
          other.reasons.join("; ")))) : note("Nothing."),
        found.unnoticed.length ? [h("h3", {}, "Not noticed"), h("ul", {}, found.unnoticed.map(other =>
          h("li", {}, `${other.connector}/${other.operation} (${other.tables.join(", ")})`)))] : "");
    } catch (error) {
      isLoaded = false;
      show(body, note(error.message, "bad"));
    }
  }}, h("summary", {}, "SQL, rules, and what refreshes it"), body);
}

/** The path of the reasons why the caller may not run mutations. */
const mutationPath = "/v1/projects/{project}/locations/{location}/services/{service}/connectors/{connector}" +
  ":impersonateMutation";

const indexes = {hash: ["hash lookup", "ok"], none: ["asks each live query", "warning"],
  all: ["concerns all live queries", "warning"], timer: ["timer", ""]};
const classes = {exact: "the value of a guard decides", keys: "the rows above, as the last run read them, decide",
  window: "the rows shown and the end of the list decide", table: "every new row counts"};

/** A rule with its index: what an event looks up, and what is evaluated for each live query that it finds. */
function drawRule(rule) {
  const [text, kind] = indexes[rule.index] ?? [rule.index, ""];
  const parts = [["looked up by", rule.hashKey ?? rule.key ?? rule.guards],
    ["decided once for an event", rule.eventSide], ["decided once for a live query", rule.subscriberSide],
    ["evaluated for each", rule.remainder],
    ["rows enter by", rule.entering], ["in the order of", rule.order]].filter(([, list]) => list?.length);
  return h("li", {}, h("code", {}, ruleName(rule)), " ", badge(text, kind),
    rule.class ? [" ", badge(rule.class, rule.class === "table" ? "warning" : "ok"),
      ` ${classes[rule.class] ?? ""}`] : "",
    parts.length ? h("ul", {}, parts.map(([name, list]) => h("li", {}, `${name}: `,
      list.map((item, index) => [index ? ", " : "", h("code", {}, item)])))) : "");
}

function ruleName(rule) {
  switch (rule.rule) {
    case "implicit": return `key of ${rule.table}`;
    case "timer": return `every ${rule.everyMs} ms`;
    case "automatic": return rule.table ? `changes of ${rule.table}` : "changes of any row";
    default: return `onMutationExecuted ${rule.mutation}${rule.condition ? ` when ${rule.condition}` : ""}`;
  }
}

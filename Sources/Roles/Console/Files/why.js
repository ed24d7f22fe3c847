// Why is this screen stale? The verdict in one sentence, then the chain from the rules to the sessions.

import {ask, query} from "./api.js";
import {badge, bytes, card, clock, duration, facts, field, h, link, note, number, plural, select, short, show}
  from "./dom.js";
import {missing} from "./sessions.js";

const time = ms => ms ? clock(ms) : "never";

export async function open(place, {signal, values, context}) {
  const queries = context.operations.filter(({kind}) => kind === "query");
  const session = h("input",
    {name: "session", value: values.session ?? "", placeholder: "NODE/ID", autocomplete: "off"});
  const key = h("input", {name: "key", value: values.key ?? "", placeholder: "64 hex digits", autocomplete: "off"});
  const operation = select([["", "choose"], ...queries.map(({operation}) => [operation, operation])],
    {name: "operation", value: values.operation ?? ""});
  const variables = h("textarea", {name: "variables", rows: 2, spellcheck: "false", value: values.variables ?? "{}"});
  const uid = h("input", {name: "uid", value: values.uid ?? "", autocomplete: "off"});
  const claims = h("textarea", {name: "claims", rows: 2, spellcheck: "false", value: values.claims ?? ""});
  const answer = h("div", {id: "why", "aria-live": "polite"});
  const go = chosen => { location.hash = "#/why" + query(chosen); };
  const form = (title, isOpen, submit, ...controls) => h("details", {class: "card", open: isOpen, name: "question"},
    h("summary", {}, title), h("form", {onsubmit: event => { event.preventDefault(); submit(); }},
      h("div", {class: "filters"}, controls), h("div", {class: "row"}, h("button", {class: "primary"}, "Why?"))));
  const isAsked = values.session || values.key || values.operation;
  const lead = h("p", {class: "hint"}, "Name what the screen shows. The query runs once, its result is compared with ",
    "what the gateways hold, and the first cause of a difference is named.");
  show(place, isAsked ? answer : lead, isAsked ? "" : answer,
    form("By operation, variables and user", !isAsked, () => go({operation: operation.value,
      variables: variables.value.trim(), uid: uid.value.trim(), claims: claims.value.trim()}),
    field("Operation", operation), field("Variables", variables, "A JSON object, as the client sends it."),
    field("User id", uid, "Empty: signed out."),
    field("Claims", claims, 'Of the user\'s token, if rules read them: {"role": "staff"}.')),
    form("By session", false, () => go({session: session.value.trim()}), field("Session", session,
      "Sessions has the list.")),
    form("By live query", false, () => go({key: key.value.trim()}), field("Key", key, "Live queries has the list.")));
  if (!isAsked) return;
  show(answer, note("Asking all nodes …"));
  try {
    draw(answer, await ask("/admin/v1/why", values, {signal}), values);
  } catch (error) {
    if (!signal.aborted) show(answer, note(error.message, "bad"));
  }
}

function draw(place, why, values) {
  const {verdict} = why;
  const [word, level] = {fresh: ["Fresh", "ok"], stale: ["Stale", "critical"]}[verdict.state] ?? ["Unclear", "warning"];
  show(place,
    h("div", {class: `verdict ${level}`, id: "why-verdict", "data-code": verdict.code},
      badge(word, level), " ",
      h("strong", {}, verdict.sentence),
      verdict.next?.length ? h("ul", {}, verdict.next.map(text => h("li", {}, text))) : ""),
    missing(why.unreachable), (why.warnings ?? []).map(text => note(text, "warning")),
    why.choices ? card("Its live queries", h("ul", {}, why.choices.map(choice => h("li", {}, link(choice.operation,
      "#/why" + query({session: values.session, key: choice.key})), ` ${short(choice.key)}`)))) : "",
    h("div", {class: "chain"}, question(why), registered(why), events(why), runs(why), gateways(why), rules(why)),
    h("p", {}, h("button", {type: "button", onclick: () => dispatchEvent(new HashChangeEvent("hashchange"))},
      "Ask again")));
}

const question = ({query: asked, truth}) => asked && card("The live query", facts([
  ["Operation", asked.operation], ["Variables", h("code", {}, JSON.stringify(asked.variables ?? {}))],
  ["User", asked.auth?.uid || "signed out"], ["Key", h("code", {title: asked.key}, short(asked.key))],
  ["Version", asked.isCurrentVersion === false ? badge("a former one", "warning") : "the current one"],
  ["Reads", asked.readsTables?.join(", ")],
  ["The database says now", truth && ({same: "the same as the screen should show", differs: "another result",
    failed: `the query fails: ${truth.error}`, timedOut: "no answer in time", notRun: "not asked"})[truth.state]],
]));

function registered({registered: found, shard, recording}) {
  if (!found && !shard) return "";
  return card("Its owner", found ? facts([
    ["Worker", found.node], ["Shard", found.shard], ["Registered", found.sinceMs ? clock(found.sinceMs) : undefined],
    ["State", found.phase + (found.runningForMs ? ` for ${duration(found.runningForMs)}` : "")],
    ["Runs", `${number(found.runs)}, the last at ${time(found.lastRunAtMs)}, ${duration(found.lastRunMs)}`],
    ["Failures in a row", found.failures ? badge(`${found.failures}: ${found.lastError ?? ""}`, "critical") : "none"],
    ["Last event that concerned it", time(found.lastTriggerAtMs)],
    ["Waits for", found.waitsFor?.join(", ") || undefined],
    ["Timer", found.everyMs ? `every ${duration(found.everyMs)}` : undefined],
  ]) : note("No worker has it.", "warning"), facts([
    ["Shard's owner", shard?.owner ?? badge("none", "critical")],
    ["Recorded since", recording?.isArmed ? clock(recording.sinceMs) : "not: this look begins it, for minutes"],
  ]));
}

const outcomes = {matched: "ok", no: "", error: "critical", observed: "warning", notConcerned: ""};

const events = ({events: found}) => found && card("Events considered, the newest first", found.length
  ? h("ol", {class: "events"}, found.map(event => h("li", {},
    h("p", {}, h("time", {}, clock(event.atMs)), " ", h("strong", {}, event.mutation), " ",
      badge(event.isMatched ? "matched" : "no match", event.isMatched ? "ok" : "warning"), " ",
      event.trace ? link("trace", `#/trace?id=${event.trace}`) : ""),
    h("ul", {}, (event.rules ?? []).map(rule => h("li", {}, badge(rule.outcome, outcomes[rule.outcome]), " ",
      h("code", {}, rule.rule), rule.reason ? h("p", {class: "reason"}, rule.reason) : ""))))))
  : note("None since it was registered."));

const runs = ({runs: found}) => found && card("Runs, the newest first", found.length
  ? h("ol", {class: "events"}, found.map(run => h("li", {}, h("time", {}, clock(run.startedAtMs)), " ",
    badge(run.outcome, run.outcome === "changed" ? "ok" : run.outcome === "failed" ? "critical" : ""), " ",
    `${duration(run.ms)}, because of ${(run.causes ?? []).join(", ")}`,
    run.coalesced > 1 ? `, for ${run.coalesced} events` : "", run.error ? `: ${run.error}` : "")))
  : note("None while it was recorded."));

const holdings = {sameAsDatabase: ["as the database", "ok"], older: ["older", "critical"],
  nothing: ["nothing", "warning"],
  unknown: ["unknown", ""]};

const held = ({holds}) => {
  const [text, kind] = holdings[holds] ?? holdings.unknown;
  return badge(`holds ${text}`, kind);
};

const gateways = ({gateways: found, ended}) => (found || ended) && card("Gateways and sessions",
  found?.length ? found.map(gateway => h("div", {}, h("h3", {}, gateway.node, " ", held(gateway),
    gateway.isDraining ? badge("draining", "warning") : ""),
  gateway.sessions?.length ? h("ul", {}, gateway.sessions.map(session => h("li", {},
    link(session.session, "#/why" + query({session: session.session, key: session.key})),
    ` ${session.protocol}, ${session.uid || "signed out"}: `,
    session.deliveredAtMs ? `delivered at ${clock(session.deliveredAtMs)}` : "nothing delivered while recorded",
    session.pendingBytes ? `, ${bytes(session.pendingBytes)} wait for the client` : "",
    session.isStalled ? badge("stalled", "critical") : "",
    session.isSuspended ? badge("token expired", "critical") : "",
    session.tokenExpiresInMs > 0 ? `, token for ${duration(session.tokenExpiresInMs)}` : "")))
    : note("No session here."))) : note("No gateway has it.", "warning"),
  ended?.length ? [h("h3", {}, "Left"), h("ul", {}, ended.map(end => h("li", {},
    `${end.session}${end.uid ? ` (${end.uid})` : ""} at ${clock(end.atMs)}: ${end.reason}`)))] : "");

const rules = ({query: asked, staticRules}) => (asked?.rules || staticRules) && card("Rules",
  asked?.rules?.length ? h("ul", {}, asked.rules.map(rule => h("li", {}, h("code", {}, rule)))) : note("None."),
  staticRules?.missing?.length ? [h("h3", {}, "Mutations that no rule covers"), staticRules.missing.map(found =>
    h("div", {class: "advice"}, h("p", {}, `${found.mutation} writes ${found.tables.join(", ")}. This would cover it:`),
      h("pre", {tabindex: 0}, found.rule)))] : "",
  staticRules?.covered?.length ? h("p", {class: "hint"}, `Covered: ${staticRules.covered.join(", ")}; `,
    plural(staticRules.covered.length, "mutation")) : "");

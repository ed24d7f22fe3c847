// Home: the verdict in one sentence, then nodes, shards that need attention, events, the log's slot.

import {follow, get} from "./api.js";
import {badge, bytes, card, duration, facts, h, link, note, number, plural, short, show} from "./dom.js";
import {table} from "./table.js";

export function verdict({level, verdict}) {
  const words = {ok: "Well", warning: "Look at this", critical: "Act now"};
  return h("p", {class: `verdict ${level}`, role: "status", id: "verdict"},
    badge(words[level] ?? level, level), " ", verdict);
}

export async function open(place, {signal}) {
  const nodes = table({
    label: "Nodes", empty: "No node is listed.",
    columns: [
      {name: "id", label: "Node"},
      {name: "roles", label: "Roles", show: row => row.roles.join(", ")},
      {name: "state", label: "State", show: row => badge(row.state, row.state === "ready" ? "ok" : "warning")},
      {name: "sessions", label: "Sessions", isNumber: true, show: row => number(row.sessions)},
      {name: "version", label: "Release"},
      {name: "project", label: "Project", show: row => short(row.project)},
      {name: "upMs", label: "Up", isNumber: true, show: row => duration(row.upMs)},
    ],
  });
  const shards = table({
    label: "Shards that need attention", empty: "Every shard is well.",
    columns: [
      {name: "shard", label: "Shard", isNumber: true}, {name: "verdict", label: "State"},
      {name: "owner", label: "Owner"}, {name: "behindMs", label: "Behind", isNumber: true,
        show: row => duration(row.behindMs)},
      {name: "undeliveredMs", label: "Undelivered", isNumber: true,
        show: row => duration(row.undeliveredMs)},
      {name: "due", label: "Due", isNumber: true, show: row => number(row.due)},
    ],
  });
  const replicas = table({
    label: "Read replicas", empty: "No worker has one.",
    columns: [
      {name: "address", label: "Replica"}, {name: "worker", label: "Worker"},
      {name: "state", label: "State", show: row => badge(replicaStates[row.state] ?? row.state,
        row.isUsed ? "ok" : "warning")},
      {name: "lagBytes", label: "Not replayed", isNumber: true, show: row => bytes(row.lagBytes)},
      {name: "lagMs", label: "Behind", isNumber: true, show: row => row.isUsed ? "no" : duration(row.lagMs)},
    ],
  });
  const replicaCard = card("Read replicas", replicas);
  replicaCard.hidden = true;
  const [head, problems, events, redis, slot] = [h("div"), h("div"), h("div"), h("div"), h("div")];
  const count = h("p", {class: "hint"});
  show(place, head, problems, h("div", {class: "grid"}, card("Events and delivery", events), card("Redis", redis),
    card("Database log", slot)), card("Nodes", nodes), replicaCard, card("Shards", count, shards));
  const draw = async state => {
    show(head, verdict(state));
    show(problems, state.problems.length > 1 ? h("ul", {class: "problems"}, state.problems.map(problem => h("li", {},
      badge(problem.severity, problem.severity), " ", problem.screen === "home" || problem.screen === "shards"
        ? problem.sentence : link(problem.sentence, `#/${problem.screen}`)))) : []);
    const statuses = new Map(state.statuses.map(status => [status.node, status]));
    const missing = new Map(state.unreachable.map(({node, reason}) => [node, reason]));
    nodes.rows = state.nodes.map(node => {
      const status = statuses.get(node.id);
      const known = missing.has(node.id) ? "no answer" : status?.ready === false ? "not ready" : "ready";
      return {...node, state: node.draining ? "draining" : known};
    });
    replicas.rows = state.statuses.flatMap(status =>
      (status.replicas ?? []).map(replica => ({...replica, worker: status.node})));
    replicaCard.hidden = replicas.rows.length === 0;
    shards.rows = state.shards.attention;
    shards.hidden = state.shards.attention.length === 0;
    count.textContent = (state.shards.attention.length
      ? `${state.shards.attention.length} of ${plural(state.shards.count, "shard")} need attention. `
      : `All ${plural(state.shards.count, "shard")} are well. `) +
      `${plural(state.shards.liveQueries, "live query", "live queries")}.`;
    drawEvents(events, state);
    drawRedis(redis, state);
    await drawSlot(slot, state, signal);
  };
  follow(signal, {path: () => "/admin/v1/overview", show: draw,
    failed: error => show(head, note(error.message, "bad"))});
}

const replicaStates = {used: "used", behind: "behind, not used", otherTimeline: "on another timeline, not used",
  notStandby: "takes writes, not used", notConnected: "not connected", unknown: "unknown"};

const sum = (statuses, value) => statuses.reduce((total, status) => total + (value(status) ?? 0), 0);

function late(lags) {
  const oldestMs = Math.max(...lags.map(lag => lag.undeliveredMs));
  return oldestMs > 0 ? `at most ${duration(oldestMs)} old` : "none";
}

function drawEvents(place, {statuses, shards}) {
  const oldest = Math.max(0, ...statuses.map(status => status.outbox?.oldestMs ?? 0));
  const rows = Math.max(0, ...statuses.map(status => status.outbox?.rows ?? 0));
  const lags = statuses.map(status => status.gateway?.lag).filter(lag => lag?.shards);
  const slowest = lags.map(lag => lag.endToEndMs).filter(ms => ms !== null);
  show(place, facts([
    ["From commit to delivery, slowest shard", slowest.length ? duration(Math.max(...slowest)) : "not measured yet"],
    ["Oldest change not delivered", lags.length ? late(lags) : "no shard is followed, or lag.markerEveryMs is 0"],
    ["Furthest behind in reading events", duration(shards.behindMsMax)],
    ["Events in the outbox", rows ? `${number(rows)}, the oldest ${duration(oldest)} old` : "none"],
    ["Sessions", number(sum(statuses, status => status.sessions))],
    ["Subscriptions", number(sum(statuses, status => status.gateway?.subscriptions))],
    ["Live queries waiting to run", number(sum(statuses, status => status.worker?.due))],
    ["Runs in flight", number(sum(statuses, status => status.worker?.runsInFlight))],
    ["Live queries whose last run failed", failing(statuses)],
    ["Conditions that failed", number(sum(statuses, status =>
      (status.worker?.conditionErrors ?? []).reduce((total, error) => total + error.count, 0)))],
  ]));
}

function failing(statuses) {
  const count = sum(statuses, status => status.worker?.failing);
  const last = statuses.map(status => status.worker?.lastFailure).filter(Boolean)
    .sort((left, right) => right.atMs - left.atMs)[0];
  return last ? h("span", {}, badge(number(count), "critical"), ` the last ${last.operation}: ${last.message} `,
    link("Why?", `#/why?key=${last.key}`)) : "none";
}

const memory = ({usedBytes, maxBytes, policy}) => h("span", {}, bytes(usedBytes),
  maxBytes === null ? ", without limit" : ` of ${bytes(maxBytes)}, then `,
  maxBytes === null ? "" : badge(policy, policy === "noeviction" ? "ok" : "critical"));

function drawRedis(place, {statuses, redis, shards}) {
  const connected = statuses.filter(status => status.redis?.connected).length;
  const servers = [...new Set(statuses.flatMap(status => (status.redis?.servers ?? []).map(({address}) => address)))];
  show(place, facts([
    ["Nodes connected", `${connected} of ${statuses.length}`],
    ["Servers", servers.map(server => server.replace(/^rediss?:\/\//, "")).join(", ") || "–"],
    ["Reconnects", number(sum(statuses, status => status.redis?.reconnects))],
    ["Commands queued", number(sum(statuses, status => status.redis?.queued))],
    ["Memory", redis?.length ? redis.map((server, index) => [index ? h("br") : "", memory(server)]) : "–"],
    ["Survives a restart (appendonly)", redis?.length ? redis.every(({isLogged}) => isLogged) ? "yes" : "no" : "–"],
    ["Events kept of the fullest shard", number(shards.streamLengthMax)],
    ["Oldest event kept", duration(shards.keptForMsMax)],
  ]));
}

async function drawSlot(place, {statuses}, signal) {
  const tailers = statuses.filter(status => status.tailer);
  if (!tailers.some(({tailer}) => tailer.state !== "idle")) {
    return show(place, note("Not used: no query refreshes by changes that others than mutations make."));
  }
  try {
    const {slot, obstacle, tailer} = await get("/admin/v1/slot", {signal});
    show(place, facts([
      ["Slot", slot.name], ["Health", badge(slot.health, slot.health === "ok" ? "ok" : "critical")],
      ["Reader", tailer], ["Log kept for it", bytes(slot.retainedBytes)],
      ["Safe to lose the reader for", slot.safeBytes === null ? "no limit set" : bytes(slot.safeBytes)],
      ["Obstacle", obstacle],
    ]));
  } catch (error) {
    if (!signal.aborted) show(place, note(error.message, "bad"));
  }
}

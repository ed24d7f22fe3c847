// Events, runs and deliveries as they come.

import {get, query, stream} from "./api.js";
import {badge, bytes, clock, duration, field, h, link, note, number, plural, select, short, show} from "./dom.js";

const linesMax = 300;
const states = {joined: "is heard", lost: "is lost", gone: "went away", unreachable: "cannot be heard"};

/** One entry in words. */
export function sentence(kind, entry) {
  switch (kind) {
    case "event": return [`${entry.mutation}: ${number(entry.matched)} of `,
      plural(entry.considered, "live query", "live queries"), " matched"];
    case "run": return [`${entry.operation} ran because of ${(entry.causes ?? []).join(", ")}: ${entry.outcome}, `,
      duration(entry.ms), entry.coalesced > 1 ? `, for ${entry.coalesced} events` : ""];
    case "delivery": return [`${entry.operation} to ${entry.session}${entry.uid ? ` (${entry.uid})` : ""}: `,
      bytes(entry.bytes), entry.isHeld ? ", held for a slow client" : "",
      entry.afterCommitMs === undefined ? "" : `, ${duration(entry.afterCommitMs)} after the commit`];
    case "session": return [`${entry.session} ${entry.change}${entry.reason ? `: ${entry.reason}` : ""}`];
    case "dropped": return [`${plural(entry.count, "entry", "entries")} of ${entry.node} left out: too many to read`];
    case "node": return [`${entry.node} ${states[entry.state] ?? ""}`, entry.reason ? `: ${entry.reason}` : ""];
    default: return [JSON.stringify(entry)];
  }
}

export async function open(place, {signal, context}) {
  const operation = select([["", "all"], ...context.operations.map(({operation}) => [operation, operation])],
    {name: "operation"});
  const kind = select([["", "all"], ["event", "events"], ["run", "runs"], ["delivery", "deliveries"],
    ["session", "sessions"]], {name: "kind"});
  const uid = h("input", {name: "uid", autocomplete: "off"});
  const node = select([["", "all"]], {name: "node"});
  get("/admin/v1/nodes", {signal}).then(({nodes}) => node.append(...nodes.map(({id}) => h("option", {value: id}, id))))
    .catch(() => { /* the stream says what is wrong */ });
  const state = h("p", {class: "hint", role: "status"});
  const list = h("ol", {class: "tail", id: "tail", "aria-label": "Entries, the newest first"});
  const toggle = h("button", {type: "button", class: "primary"}, "Pause");
  let reading;
  let count = 0;

  function stop(text) {
    reading?.abort();
    reading = undefined;
    toggle.textContent = "Start";
    state.textContent = text;
  }

  function start() {
    reading?.abort();
    reading = new AbortController();
    const own = reading;
    toggle.textContent = "Pause";
    state.textContent = "Connecting.";
    stream("/admin/v1/tail" + query({operation: operation.value, kind: kind.value, uid: uid.value.trim(),
      node: node.value}),
      AbortSignal.any([own.signal, signal]), {
        opened() { state.textContent = `${node.value || "All nodes"}. The audit log records that somebody looks.`; },
        event(name, entry) {
          if (own.signal.aborted) return;
          count += 1;
          list.prepend(h("li", {}, h("time", {}, entry.atMs ? clock(entry.atMs) : ""), badge(name, name),
            h("span", {}, sentence(name, entry), entry.node && name !== "node" ? h("small", {}, ` ${entry.node}`) : ""),
            entry.trace ? link(short(entry.trace), `#/trace?id=${entry.trace}`) : ""));
          if (list.childElementCount > linesMax) list.lastElementChild.remove();
        },
        lost(message, isFinal) { if (isFinal) stop(message); else state.textContent = message; },
      });
  }

  toggle.addEventListener("click", () => {
    if (reading) stop(`Paused after ${plural(count, "entry", "entries")}.`); else start();
  });
  const form = h("form", {class: "filters", onsubmit: event => { event.preventDefault(); start(); }, onchange: start},
    field("Operation", operation), field("Kind", kind), field("User", uid),
    field("Node", node), toggle);
  show(place, form, state, list, note("Nothing is kept: what came before this page was opened is not here."));
  start();
}

// One mutation from its commit to the last delivery.

import {allowed} from "./access.js";
import {follow, get, post, query} from "./api.js";
import {bytes, card, clock, duration, field, h, link, note, number, percent, plural, select, short,
  show} from "./dom.js";
import {missing} from "./sessions.js";
import {table} from "./table.js";

const names = {received: "Received", committed: "Committed", published: "Published", matched: "Matched",
  query: "Live query", ran: "Ran", arrived: "Arrived", delivered: "Delivered"};

/** A span in words. */
export function about(span) {
  switch (span.kind) {
    case "received": return "the request arrived";
    case "committed": return `rows and event in one transaction${span.rows ? `, ${plural(span.rows, "row")}` : ""}`;
    case "published": return `to ${plural(span.shards?.length ?? 0, "shard")} (${(span.shards ?? []).join(", ")})`;
    case "matched": return `shard ${span.shard}: ${number(span.matched)} of ` +
      `${plural(span.considered, "live query", "live queries")}`;
    case "query": return `${span.operation}, by ${(span.rules ?? []).join(", ")}`;
    case "ran": return `${span.operation}: ${span.outcome}, ${duration(span.durationMs)}` +
      (span.coalesced > 1 ? `, with ${span.coalesced - 1} more` : "");
    case "arrived": return `result of ${bytes(span.bytes)} at the gateway`;
    case "delivered": return `to ${plural(span.sessionCount ?? span.sessions?.length ?? 0, "session")}` +
      (span.held ? `, ${span.held} of them held for slow clients` : "");
    default: return "";
  }
}

/** The steps of a trace with a mark for each time. */
export function timeline(trace) {
  const from = Math.min(0, ...trace.spans.map(span => span.ms));
  const to = Math.max(1, ...trace.spans.map(span => span.ms));
  const place = ms => `${(ms - from) / (to - from) * 100}%`;
  return h("ol", {class: "timeline", "aria-label": "Steps"}, trace.spans.map(span => {
    const mark = h("span", {class: "mark", "aria-hidden": "true"});
    // A run is reported at its end.
    mark.style.left = place(span.ms - (span.durationMs ?? 0));
    if (span.durationMs) mark.style.width = `${span.durationMs / (to - from) * 100}%`;
    return h("li", {class: span.kind}, h("span", {class: "ms"}, duration(span.ms)),
      h("strong", {}, names[span.kind] ?? span.kind), h("span", {class: "about"}, about(span)),
      h("span", {class: "node"}, span.node), h("span", {class: "track", "aria-hidden": "true"}, mark));
  }));
}

export async function open(place, {signal, values}) {
  const id = h("input", {name: "id", value: values.id ?? "", autocomplete: "off", required: true});
  const found = h("div", {id: "trace"});
  const recent = table({
    label: "Recent traces",
    empty: "No trace yet. Run a mutation here, or send it with the header x-freshet-trace: 1.",
    columns: [
      {name: "trace", label: "Trace", show: row => link(short(row.trace), `#/trace?id=${row.trace}`)},
      {name: "mutation", label: "Mutation"},
      {name: "committedAtMs", label: "Committed", isNumber: true,
        show: row => row.committedAtMs ? clock(row.committedAtMs) : "–"},
      {name: "spans", label: "Steps", isNumber: true},
    ],
  });
  const form = h("form", {class: "filters", onsubmit: event => {
    event.preventDefault();
    location.hash = "#/trace" + query({id: id.value.trim()});
  }}, field("Trace id", id), h("button", {class: "primary"}, "Show"));
  show(place, form, found, sampler(signal), card("Recent traces", recent));
  follow(signal, {path: () => "/admin/v1/traces?limit=50", show({traces}) { recent.rows = traces; }});
  if (values.id) await load();

  async function load() {
    // Deliveries follow the answer by some milliseconds.
    for (const wait of [0, 300, 1500]) {
      await new Promise(resolve => setTimeout(resolve, wait));
      if (signal.aborted) return;
      try {
        const trace = await get(`/admin/v1/trace/${encodeURIComponent(values.id)}`, {signal});
        show(found, card(trace.mutation ?? "Trace", h("p", {class: "lead", role: "status"}, trace.sentence),
          missing(trace.unreachable), timeline(trace)));
      } catch (error) {
        if (signal.aborted) return;
        show(found, note(error.status === 404 ? "No node has steps of this trace. Nodes keep few, and only of " +
          "mutations that were asked to be traced." : error.message, "bad"));
      }
    }
  }
}

/** Arms and ends the sampling of traces on all nodes, and says what is recorded. */
function sampler(signal) {
  const state = h("p", {class: "hint", role: "status", id: "sampling"});
  const share = select([["1", "1 %"], ["10", "10 %"], ["100", "all"]], {name: "share"});
  share.value = "100";
  const minutes = select([["10", "10 minutes"], ["60", "1 hour"]], {name: "trace-minutes"});
  const act = path => async () => {
    try {
      await post(path());
      wake();
    } catch (error) { state.textContent = error.message; }
  };
  const start = h("button", allowed("/admin/v1/recording", {type: "button", id: "sampling-start", onclick: act(() =>
    "/admin/v1/recording" + query({tracePercent: share.value, forMs: minutes.value * 60000}))}), "Trace");
  const stop = h("button", allowed("/admin/v1/recording/stop", {type: "button", id: "sampling-stop",
    onclick: act(() => "/admin/v1/recording/stop")}), "Stop all recording");
  const gaps = h("div");
  const wake = follow(signal, {
    path: () => "/admin/v1/recording",
    isSecond: true,
    show(found) {
      const sampled = found.nodes.filter(({traceRate}) => traceRate > 0);
      const until = sampled.map(({untilMs}) => untilMs).filter(Boolean);
      const ask = "Only mutations that ask for it are traced. ";
      state.textContent = (sampled.length
        ? `${sampled.length} of ${plural(found.nodes.length, "node")} trace up to ${percent(found.traceRate)} of `
          + `their mutations until ${clock(Math.max(...until)).slice(0, 8)}. ` : ask) +
        `${plural(found.spans, "step")} kept, ${plural(found.queries, "live query", "live queries")} recorded.`;
      show(gaps, missing(found.unreachable));
    },
    failed: error => { state.textContent = error.message; },
  });
  return card("Sample mutations", h("div", {class: "filters"}, field("Share of mutations", share),
    field("For", minutes), start, stop), state, gaps);
}

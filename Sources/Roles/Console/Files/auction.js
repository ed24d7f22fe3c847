// The sample's first screen: the live auction beside what the server does for it.

import {get, stream} from "./api.js";
import {badge, card, clock, duration, field, h, link, note, number, plural, show} from "./dom.js";
import {Follower, asUser} from "./follower.js";
import {sentence} from "./tail.js";

const euros = amount => amount === null || amount === undefined ? "no bid"
  : `€ ${Number(amount).toLocaleString("en")}`;

function left(time) {
  const seconds = Math.max(0, Math.round((Date.parse(time) - Date.now()) / 1000));
  if (seconds === 0) return "ended";
  if (seconds >= 172800) return `${Math.floor(seconds / 86400)} days`;
  const two = value => String(value).padStart(2, "0");
  const hours = seconds >= 3600 ? `${Math.floor(seconds / 3600)}:` : "";
  return `${hours}${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
}

const categories = ["Books", "Cameras", "Ceramics", "Clocks", "Coins", "Furniture", "Hi-Fi", "Instruments", "Jewellery",
  "Maps", "Posters", "Toys"];

function savedName() {
  try { return localStorage.getItem("name") ?? ""; } catch { return ""; }
}

export async function open(place, {signal, values}) {
  const follower = new Follower(signal);
  const inside = insideView(signal);
  let [selected, stopLot, stopBids, shown, former] = [undefined, undefined, undefined, undefined, new Map()];

  const name = h("input", {name: "name", maxlength: 40, autocomplete: "off",
    value: savedName() || `guest${1000 + Math.floor(Math.random() * 9000)}`});
  name.addEventListener("change", () => { try { localStorage.setItem("name", name.value); } catch { /* private */ } });
  const category = h("select", {name: "category"}, h("option", {value: ""}, "All categories"),
    categories.map(value => h("option", {value}, value)));
  category.value = values.category ?? "";
  const state = h("span", {id: "state", class: "off", role: "status"}, "connecting");
  const rows = h("tbody", {id: "rows"});
  const amount = h("input", {name: "amount", id: "amount", type: "number", min: 1, disabled: true});
  const button = h("button", {class: "primary", disabled: true}, "Bid");
  const title = h("h2", {}, "Choose a lot");
  const text = h("p", {class: "hint"});
  const price = h("p", {class: "price", id: "price"});
  const error = h("p", {class: "bad", role: "alert", id: "error"});
  const bids = h("tbody", {id: "bids"});

  follower.onState = (isOn, words) => { state.className = isOn ? "on" : "off"; state.textContent = words; };
  follower.onError = message => { error.textContent = message; };

  const showList = ({lots}) => {
    const now = new Map(lots.map(lot => [lot.id, JSON.stringify(lot)]));
    // The focus stays on its lot.
    const focused = rows.contains(document.activeElement) ? document.activeElement.closest("tr").dataset.id : "";
    show(rows, lots.map(lot => {
      const isFresh = former.size > 0 && former.get(lot.id) !== now.get(lot.id);
      return h("tr", {"data-id": lot.id, class: isFresh ? "fresh" : null, "aria-current": String(lot.id === selected)},
        h("td", {}, h("button", {type: "button", class: "plain", onclick: () => choose(lot.id)}, lot.title),
          h("small", {}, lot.category)),
        h("td", {class: "number"}, euros(lot.highestBid)),
        h("td", {class: "number", "data-closes": lot.closesAt}, left(lot.closesAt)));
    }));
    if (focused) [...rows.rows].find(row => row.dataset.id === focused)?.querySelector("button").focus();
    former = now;
    if (!selected && lots.length) choose(lots[0].id);
  };

  function showLot({lot}) {
    const isNew = shown?.id !== lot?.id || shown?.highestBid !== lot?.highestBid;
    shown = lot;
    title.textContent = lot?.title ?? "This lot was withdrawn";
    text.textContent = lot?.description ?? "";
    price.textContent = !lot ? "" : lot.highestBid === null ? `from ${euros(lot.startPrice)}` : euros(lot.highestBid);
    if (!lot || !isNew) return;
    amount.value = lot.highestBid === null ? lot.startPrice : lot.highestBid + 5;
    amount.disabled = button.disabled = !lot.open;
    price.classList.remove("flash");
    requestAnimationFrame(() => price.classList.add("flash"));
    inside.arrived();
  }

  function choose(id) {
    selected = id;
    error.textContent = "";
    stopLot?.();
    stopBids?.();
    stopLot = follower.follow("GetLot", {id}, showLot);
    stopBids = follower.follow("LotBids", {lotId: id}, data => show(bids, data.bids.slice(0, 5).map(bid => h("tr", {},
      h("td", {}, bid.user.uid), h("td", {class: "number"}, euros(bid.amount)),
      h("td", {class: "number"}, new Date(bid.placedAt).toLocaleTimeString("en-GB"))))));
    for (const row of rows.rows) row.setAttribute("aria-current", String(row.dataset.id === id));
  }

  const bid = h("form", {id: "bid", class: "pair", onsubmit: async event => {
    event.preventDefault();
    const variables = {lotId: shown.id, category: shown.category, amount: Number(amount.value)};
    error.textContent = "";
    const saved = await asUser(name.value, "SaveAccount", {name: name.value});
    if (saved.reason) { error.textContent = saved.reason; return; }
    inside.sent(`PlaceBid, ${euros(variables.amount)}`);
    const answer = await asUser(name.value, "PlaceBid", variables, {"x-freshet-trace": "1"});
    error.textContent = answer.reason ?? "";
    await inside.answered(answer);
  }}, field("Your bid, €", amount), button);

  let stopList;
  const chooseCategory = () => {
    stopList?.();
    former = new Map();
    selected = undefined;
    stopList = follower.follow("ListLots", category.value ? {category: category.value} : {}, showList);
  };
  category.addEventListener("change", chooseCategory);
  const ticking = setInterval(() => {
    for (const cell of rows.querySelectorAll("[data-closes]")) cell.textContent = left(cell.dataset.closes);
  }, 1000);
  signal.addEventListener("abort", () => clearInterval(ticking), {once: true});

  show(place, h("p", {class: "lead"}, "Place a bid. Every window that shows the lot has the new price at once; ",
    "“What happens inside” shows what the server did for it."),
  h("div", {class: "split half"},
    h("section", {"aria-label": "The auction"},
      h("div", {class: "card lot"}, title, text, h("div", {class: "row"}, price, bid), error,
        h("table", {"aria-label": "Highest bids"}, bids)),
      h("div", {class: "card"}, h("div", {class: "filters"}, field("Category", category),
        field("You bid as", name), state),
        h("table", {"aria-label": "Lots"}, h("thead", {}, h("tr", {}, h("th", {scope: "col"}, "Lot"),
          h("th", {scope: "col", class: "number"}, "Highest bid"),
          h("th", {scope: "col", class: "number"}, "Closes in"))),
        rows))),
    inside.element));
  chooseCategory();
}

const steps = [
  ["mutation", "Mutation", "one transaction: the row and its event"],
  ["event", "Event", "to the shards whose queries it may concern"],
  ["rule", "Rules", "find the live queries it concerns"],
  ["run", "Run", "one SQL statement for all of them"],
  ["delivery", "Delivery", "changed results, to every session"],
];

/** The right half: the steps of the last bid, and what the node does meanwhile. */
function insideView(signal) {
  const cells = new Map(steps.map(([id, name, about]) => [id, {
    ms: h("span", {class: "ms"}, "–"), about: h("span", {class: "about"}, about), name, standard: about,
    item: h("li", {class: "step"})}]));
  for (const cell of cells.values()) cell.item.append(cell.ms, h("strong", {}, cell.name), cell.about);
  const headline = h("p", {class: "hint", role: "status", id: "inside"}, "Nothing has happened yet.");
  const more = h("p");
  const log = h("ol", {class: "tail", "aria-label": "What the node does, the newest first"});
  let [sentAt, seenAfter] = [0, undefined];

  const set = (id, ms, about) => {
    const cell = cells.get(id);
    cell.ms.textContent = ms === undefined ? "–" : `${id === "mutation" ? "" : "+"}${number(ms)} ms`;
    cell.about.textContent = about ?? cell.standard;
    cell.item.classList.toggle("done", ms !== undefined);
  };

  function draw(trace) {
    const all = kind => trace.spans.filter(span => span.kind === kind);
    const last = spans => spans.length ? Math.max(...spans.map(span => span.ms)) : undefined;
    const [received] = all("received");
    const matched = all("matched");
    const ran = all("ran");
    const delivered = all("delivered");
    const total = (spans, name) => spans.reduce((sum, span) => sum + (span[name] ?? 0), 0);
    const shards = new Set(all("published").flatMap(span => span.shards ?? []));
    set("mutation", received ? -received.ms : 0, "rows and event committed in one transaction");
    set("event", last(all("published")), `appended to ${plural(shards.size, "shard")}`);
    set("rule", last(matched), `${plural(total(matched, "matched"), "live query matches", "live queries match")} of ` +
      `${number(total(matched, "considered"))} considered`);
    const changed = ran.filter(span => span.outcome === "changed").length;
    set("run", last(ran), `${plural(ran.length, "run")}, ${number(changed)} with a new result`);
    const sessions = new Set(delivered.flatMap(span => span.sessions ?? []));
    set("delivery", last(delivered), `${plural(total(delivered, "sessionCount"), "result")} to ` +
      plural(sessions.size, "session"));
    headline.textContent = trace.sentence;
    show(more, link("All steps of this bid", `#/trace?id=${trace.trace}`));
  }

  const element = h("section", {class: "card inside", "aria-labelledby": "inside-title"},
    h("h2", {id: "inside-title"}, "What happens inside"), headline,
    h("ol", {class: "steps"}, [...cells.values()].map(cell => cell.item)), more,
    h("h3", {}, "Live from the node"), log);

  const add = (name, ...content) => {
    log.prepend(h("li", {}, h("time", {}, clock(Date.now())), badge(name, name), h("span", {}, content)));
    if (log.childElementCount > 12) log.lastElementChild.remove();
  };
  stream("/admin/v1/tail", signal, {
    event(name, entry) { if (name !== "session") add(name, sentence(name, entry)); },
    lost(message, isFinal) { if (isFinal && !log.childElementCount) log.append(note(message)); },
  });

  return {
    element,
    sent(what) {
      [sentAt, seenAfter] = [performance.now(), undefined];
      for (const [id] of steps) set(id);
      headline.textContent = `${what}: sent.`;
      show(more);
    },
    /** The followed lot has a new price on this page. */
    arrived() { if (sentAt && seenAfter === undefined) seenAfter = performance.now() - sentAt; },
    async answered({reason, took, traceId}) {
      if (reason) { headline.textContent = `Refused after ${duration(took)}: ${reason}`; return; }
      headline.textContent = `Answered after ${duration(took)}.`;
      for (const wait of [60, 250, 900]) {
        await new Promise(resolve => setTimeout(resolve, wait));
        if (signal.aborted) return;
        try {
          draw(await get(`/admin/v1/trace/${traceId}`, {signal}));
        } catch { /* not there yet */ }
      }
      if (seenAfter === undefined) return;
      add("screen", `the new price was on this page ${duration(seenAfter)} after the click`);
    },
  };
}

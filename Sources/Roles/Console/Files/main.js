// The console: chooses a screen by the address, and says whether the server answers.

import {get, onConnection} from "./api.js";
import {h, note, show} from "./dom.js";
import * as auction from "./auction.js";
import {setRefused} from "./access.js";
import * as costs from "./costs.js";
import * as deployments from "./deployments.js";
import * as flight from "./flight.js";
import * as home from "./home.js";
import * as operations from "./operations.js";
import * as schema from "./schema.js";
import * as sessions from "./sessions.js";
import * as tail from "./tail.js";
import * as trace from "./trace.js";
import * as why from "./why.js";

const screens = [
  {path: "auction", name: "Live auction", open: auction.open, isSample: true},
  {path: "home", name: "Home", open: home.open},
  {path: "why", name: "Why is it stale?", open: why.open},
  {path: "trace", name: "Trace", open: trace.open},
  {path: "tail", name: "Tail", open: tail.open},
  {path: "operations", name: "Operations", open: operations.open},
  {path: "schema", name: "Schema", open: schema.open},
  {path: "sessions", name: "Sessions", open: sessions.openSessions},
  {path: "flight", name: "Flight recorder", open: flight.open},
  {path: "live-queries", name: "Live queries", open: sessions.openLiveQueries},
  {path: "rules", name: "Rules", open: costs.openRules},
  {path: "top", name: "Top costs", open: costs.openTop},
  {path: "capacity", name: "Capacity", open: costs.openCapacity},
  {path: "deployments", name: "Deployments", open: deployments.open},
];

const main = document.getElementById("main");
const nav = document.getElementById("nav");
const notices = h("div");
let running = new AbortController();
let context;

/** `#/why?key=…` names a screen and its values. */
function address() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  return {path, values: Object.fromEntries(new URLSearchParams(query ?? ""))};
}

async function route() {
  running.abort();
  running = new AbortController();
  const {signal} = running;
  if (!context) return;
  const listed = screens.filter(screen => !screen.isSample || context.isSample);
  const {path, values} = address();
  const screen = listed.find(screen => screen.path === path) ?? listed.find(screen => screen.path === context.first);
  show(nav, h("ul", {}, listed.map(({path, name}) => h("li", {}, h("a",
    {href: `#/${path}`, "aria-current": path === screen.path ? "page" : null}, name)))));
  document.title = `${screen.name} · Freshet`;
  const place = h("div", {class: "screen", id: `screen-${screen.path}`});
  show(main, h("h1", {}, screen.name), notices, place);
  show(notices, notice());
  nav.querySelector("[aria-current]")?.scrollIntoView({block: "nearest", inline: "center"});
  try {
    await screen.open(place, {signal, values, context});
  } catch (error) {
    if (!signal.aborted) show(place, note(error.message, "bad"));
  }
}

/** What of the project's folder is not served because of errors, as the terminal says it. */
function notice() {
  const {notServed, notReloaded} = context;
  if (!notServed.length && !notReloaded) return "";
  const errors = list => list.length ? h("pre", {tabindex: 0, "aria-label": "Errors"},
    list.map(error => error.text).join("\n")) : "";
  return h("section", {class: "card verdict critical", role: "alert", id: "notice"},
    notReloaded ? [h("p", {}, h("strong", {}, "The last edit of the folder is not served; the version before it is."),
      notReloaded.reason ? ` ${notReloaded.reason}` : ""), errors(notReloaded.errors)] : "",
    notServed.length ? [h("p", {}, h("strong", {}, "Not served, because of errors: "), notServed.join(", ")),
      errors(context.errors)] : "");
}

const sampleOperations = ["ListLots", "GetLot", "LotBids", "TopBidders", "PlaceBid", "SaveAccount", "CreateLot"];

async function load() {
  const [console, listed] = await Promise.all([get("/admin/v1/console"), get("/admin/v1/operations")]);
  const names = new Set(listed.operations.map(({name}) => name));
  // The auction is a client: it needs the public port.
  const isSample = console.isOnPublicPort && sampleOperations.every(name => names.has(name));
  const first = isSample ? "auction" : console.isOnPublicPort ? "operations" : "home";
  setRefused(console.refused);
  context = {...console, operations: listed.operations, isSample, first};
  document.getElementById("service").textContent =
    console.isDevelopment ? `${console.service} · freshet dev` : `${console.service} · node ${console.node}`;
}

async function start() {
  try {
    await load();
    await route();
  } catch (error) {
    show(main, h("h1", {}, "Freshet"), note(`${error.message} Trying again.`, "bad"));
    setTimeout(start, 1000);
  }
}

onConnection(async state => {
  const place = document.getElementById("connection");
  place.className = state;
  place.textContent = state === "lost" ? "The server does not answer; trying again." : "Connected again.";
  if (state !== "back") return;
  setTimeout(() => { if (place.className === "back") place.textContent = ""; }, 4000);
  // The project may be another one.
  await refresh();
});

/**
 * Finds edits of the project, and whether the server answers, on every screen. A short question, since a stream more
 * would take one of the few connections that a browser has to a server for all its windows.
 */
async function refresh() {
  if (!context || document.hidden) return;
  try {
    const found = await get("/admin/v1/console");
    const state = ({project, notServed, errors, notReloaded}) =>
      JSON.stringify([project, notServed, errors, notReloaded]);
    if (state(found) === state(context)) return;
    await load();
    show(notices, notice());
  } catch { /* the head says so */ }
}
setInterval(refresh, 2000);

addEventListener("hashchange", () => { route(); main.focus({preventScroll: true}); scrollTo(0, 0); });
document.querySelector(".skip").addEventListener("click", event => { event.preventDefault(); main.focus(); });
start();

// The admin API: one token, one idea of whether the server answers, event streams.

const storage = {
  get token() { try { return sessionStorage.getItem("freshet-token") ?? ""; } catch { return ""; } },
  set token(value) { try { sessionStorage.setItem("freshet-token", value); } catch { /* private mode */ } },
};

export class ApiError extends Error {
  constructor(message, status, code) { super(message); this.status = status; this.code = code; }
}

const connection = new EventTarget();
let isLost = false;

/** Calls the listener with `lost`, then with `back` when the server answers again. */
export const onConnection = listener =>
  connection.addEventListener("change", event => listener(event.detail));

function reached(answers) {
  if (answers !== isLost) return;
  isLost = !answers;
  connection.dispatchEvent(new CustomEvent("change", {detail: isLost ? "lost" : "back"}));
}

let login;

/** Asks for the token; callers that wait meanwhile share one question. */
function askToken(message) {
  login ??= new Promise(resolve => {
    const dialog = document.getElementById("login");
    document.getElementById("login-error").textContent = message;
    const input = document.getElementById("login-token");
    input.value = "";
    dialog.addEventListener("cancel", event => event.preventDefault());
    dialog.addEventListener("close", () => {
      storage.token = input.value;
      login = undefined;
      resolve();
    }, {once: true});
    dialog.showModal();
    input.focus();
  });
  return login;
}

async function reason(response) {
  try { return (await response.json()).errors[0].message; } catch { return "This is not the token."; }
}

/** The longest that an answer may take, in milliseconds. */
const answerMs = 60000;

/** Sends a request with the token; asks for one as long as it is refused. */
export async function request(path, options = {}) {
  for (;;) {
    const token = storage.token;
    const headers = {...options.headers, "x-freshet-operator": "console"};
    if (token) headers.authorization = `Bearer ${token}`;
    let response;
    try {
      response = await fetch(path, {...options, headers});
    } catch (error) {
      if (error.name === "AbortError") throw error;
      reached(false);
      throw new ApiError("The server does not answer.", 0);
    }
    reached(true);
    // Another realm, or none, is the operation's: it refuses the user that it runs as, not this page.
    const challenge = response.headers.get("www-authenticate")?.includes('realm="freshet admin"');
    // A user who may only read keeps the token when an action is refused.
    const isRead = (options.method ?? "GET") === "GET";
    if (!challenge || response.status !== 401 && !(response.status === 403 && isRead)) return response;
    // Another request may have asked in between.
    if (token === storage.token) await askToken(token ? await reason(response) : "");
  }
}

async function json(response) {
  let value;
  try { value = await response.json(); } catch { value = undefined; }
  if (response.ok && value !== undefined) return value;
  const error = value?.errors?.[0] ?? value?.error ?? value;
  throw new ApiError(error?.message ?? `status ${response.status}`, response.status, error?.extensions?.code);
}

/** Returns a query string without empty values. */
export const query = values => {
  const items = Object.entries(values).filter(([, value]) => value !== undefined && value !== "");
  return items.length ? "?" + new URLSearchParams(items) : "";
};

/** A signal that aborts with another one, and once an answer takes too long: a browser may have no connection left. */
const inTime = signal => AbortSignal.any([AbortSignal.timeout(answerMs), ...signal ? [signal] : []]);

export const get = async (path, options) => json(await request(path, {...options, signal: inTime(options?.signal)}));

export const post = async (path, body = {}, headers = {}) => json(await request(path, {method: "POST",
  headers: {"content-type": "application/json", ...headers}, body: JSON.stringify(body), signal: inTime()}));

/** The characters of a request target that servers take for sure; they take 8 KiB. */
const targetMax = 4000;

/** Reads a report; in a body what does not fit into the request target. */
export async function ask(path, values, options) {
  const target = path + query(values);
  if (target.length <= targetMax) return get(target, options);
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== "");
  return json(await request(path, {...options, method: "POST", headers: {"content-type": "application/json"},
    body: JSON.stringify(Object.fromEntries(given)), signal: inTime(options?.signal)}));
}

/** Waits, but not longer than until `signal` aborts, or the server answers again or no more. */
const pause = (ms, signal) => new Promise(resolve => {
  if (signal.aborted) return resolve();
  const timer = setTimeout(done, ms);
  function done() {
    clearTimeout(timer);
    signal.removeEventListener("abort", done);
    connection.removeEventListener("change", done);
    resolve();
  }
  signal.addEventListener("abort", done);
  connection.addEventListener("change", done);
});

/** The time after which a stream counts as lost without a byte; the server sends one every 15 seconds. */
const quietMs = 40000;

/**
 * Reads an event stream until `signal` aborts; begins again after a loss, later each time, at most after five seconds.
 * @param on - opened(), event(name, data), lost(message, isFinal)
 */
export async function stream(path, signal, on) {
  for (let attempt = 0; !signal.aborted; attempt++) {
    const own = new AbortController();
    const lose = () => own.abort();
    let timer;
    try {
      const response = await request(path,
        {signal: AbortSignal.any([own.signal, signal]), headers: {accept: "text/event-stream"}});
      if (!response.ok) {
        try { await json(response); } catch (error) { return on.lost?.(error.message, true); }
      }
      on.opened?.();
      // The connection may have died with the one that found out.
      connection.addEventListener("change", lose);
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      const take = splitter((name, value) => {
        attempt = 0;
        on.event(name, value);
      });
      for (;;) {
        timer = setTimeout(lose, quietMs);
        const {done, value} = await reader.read();
        clearTimeout(timer);
        if (done) break;
        take(value);
      }
    } catch (error) {
      if (signal.aborted) return;
    } finally {
      clearTimeout(timer);
      connection.removeEventListener("change", lose);
    }
    if (signal.aborted) return;
    on.lost?.("The stream ended; reconnecting.", false);
    await pause(Math.min(5000, 250 * 2 ** attempt), signal);
  }
}

/** Takes the parts of a stream, and calls `event` for each event. A long one is put together once. */
function splitter(event) {
  let rest = [];
  let last = "";
  return part => {
    if (!(last + part).includes("\n\n")) {
      rest.push(part);
      last = part.at(-1) ?? last;
      return;
    }
    const blocks = (rest.join("") + part).split("\n\n");
    rest = [blocks.pop()];
    last = rest[0].at(-1) ?? "";
    for (const block of blocks) parse(block, event);
  };
}

function parse(block, event) {
  let name = "message";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
  }
  if (!data.length) return;
  let value;
  try { value = JSON.parse(data.join("\n")); } catch { return; }
  event(name, value);
}

/**
 * Follows a report until `signal` aborts. Its stream is closed while nobody sees the page: a browser has six
 * connections to a server for all its windows.
 * @param on - path(): the report with its query; every(): the milliseconds between two looks; show(report), now and
 *   when it differs; failed(error); isSecond: asked for every ten seconds instead, on a screen that has a stream
 * @returns a function that asks at once, as after an action or for another path
 */
export function follow(signal, {path, every = () => 3000, show, failed = () => {}, isSecond = false}) {
  let own = new AbortController();
  let isShown = false;

  async function take(report) {
    try {
      await show(report);
    } catch (error) {
      if (!(error instanceof ApiError) && error.name !== "AbortError") throw error;
      if (!signal.aborted) failed(error);
    }
  }

  async function read() {
    const [target, ms, closed] = [path(), every(), AbortSignal.any([own.signal, signal])];
    let isRefused = isSecond;
    if (!isSecond) await stream(`${target}${target.includes("?") ? "&" : "?"}every=${ms}`, closed, {
      event(name, value) {
        if (closed.aborted) return;
        isShown = true;
        if (name === "report") take(value);
        const error = name === "error" && value.errors[0];
        if (error) failed(new ApiError(error.message, 503, error.extensions?.code));
        if (document.hidden || every() !== ms) own.abort();
      },
      lost(message, isFinal) { isRefused = isFinal; },
    });
    if (!isRefused || closed.aborted) return;
    // As many streams as may be are open, or the question is wrong: the answer says so.
    try {
      take(await get(target, {signal: closed}));
    } catch (error) {
      if (!closed.aborted) failed(error);
    }
    if (closed.aborted) return;
    isShown = true;
    await pause(isSecond ? 10000 : Math.max(ms, 5000), closed);
  }

  (async () => {
    while (!signal.aborted) {
      own = new AbortController();
      if (isShown && document.hidden) await pause(2 ** 31 - 1, AbortSignal.any([own.signal, signal]));
      else await read();
    }
  })();
  document.addEventListener("visibilitychange", () => { if (isShown || !document.hidden) own.abort(); }, {signal});
  return () => {
    isShown = false;
    own.abort();
  };
}

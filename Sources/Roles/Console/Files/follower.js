// Following queries over one graphql-transport-ws socket, as an app does (docs/reference/protocols.md).

export class Follower {
  #followed = new Map();
  #nextId = 1;
  #attempts = 0;
  #isOn = false;
  #socket;
  onState = () => {};
  onError = () => {};

  /** Connects until `signal` aborts. */
  constructor(signal) {
    this.signal = signal;
    signal.addEventListener("abort", () => this.#socket?.close(), {once: true});
    this.#connect();
  }

  #connect() {
    if (this.signal.aborted) return;
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.#socket = new WebSocket(`${scheme}://${location.host}/graphql`, "graphql-transport-ws");
    this.#socket.onopen = () => this.#send({type: "connection_init"});
    this.#socket.onmessage = ({data}) => this.#received(JSON.parse(data));
    this.#socket.onclose = () => {
      this.#isOn = false;
      if (this.signal.aborted) return;
      this.onState(false, "reconnecting");
      setTimeout(() => this.#connect(), Math.min(5000, 250 * 2 ** this.#attempts++) * (0.5 + Math.random() / 2));
    };
  }

  #received(message) {
    if (message.type === "connection_ack") {
      [this.#attempts, this.#isOn] = [0, true];
      this.onState(true, "live");
      // After a reconnect each is sent again.
      for (const [id, followed] of this.#followed) this.#subscribe(id, followed);
    }
    if (message.type === "ping") this.#send({type: "pong"});
    const errors = message.type === "error" ? message.payload : message.payload?.errors;
    if (errors) this.onError(errors[0].message);
    if (message.type === "next" && message.payload.data) this.#followed.get(message.id)?.show(message.payload.data);
  }

  #send(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  #subscribe(id, {operationName, variables}) {
    this.#send({type: "subscribe", id, payload: {query: "", operationName, variables}});
  }

  /** Follows a query; returns a function that ends it. */
  follow(operationName, variables, show) {
    const id = String(this.#nextId++);
    this.#followed.set(id, {operationName, variables, show});
    if (this.#isOn) this.#subscribe(id, this.#followed.get(id));
    return () => { this.#followed.delete(id); this.#send({type: "complete", id}); };
  }
}

const encoded = value => btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify(value))))
  .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

/** Runs a mutation as a user: `freshet dev` accepts tokens without a signature. */
export async function asUser(uid, operationName, variables, headers = {}) {
  const started = performance.now();
  let response;
  try {
    response = await fetch("/graphql", {
      method: "POST",
      headers: {"content-type": "application/json", ...headers,
        authorization: `Bearer ${encoded({alg: "none"})}.${encoded({sub: uid})}.`},
      body: JSON.stringify({operationName, variables})});
  } catch {
    return {reason: "The server does not answer."};
  }
  const {errors} = await response.json();
  return {
    // Fields that a failed step left out say so in parentheses.
    reason: errors?.find(({message}) => !message.startsWith("("))?.message ?? errors?.[0]?.message,
    took: performance.now() - started,
    traceId: response.headers.get("x-freshet-trace") ?? response.headers.get("x-trace-id"),
  };
}

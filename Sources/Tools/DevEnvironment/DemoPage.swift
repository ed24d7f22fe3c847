/// The page of `freshet dev` at `/`: live lots, bids and a leader board over one `graphql-transport-ws` socket, with
/// forms to bid and to create lots. Uses no library. It needs the operations of config/auctions.
package enum DemoPage {
    package static let html = #"""
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>Freshet: live auctions</title>
        <style>
          :root { color-scheme: light dark; --line: #8883; --soft: #8881; --accent: #0a7; --bad: #c40; }
          * { box-sizing: border-box; }
          body { font: 15px/1.45 system-ui, sans-serif; max-width: 76rem; margin: 1.5rem auto; padding: 0 1.25rem; }
          header { display: flex; gap: 1rem; align-items: center; flex-wrap: wrap; }
          h1 { font-size: 1.4rem; margin: 0; }
          h2 { font-size: 1rem; margin: 0 0 .5rem; }
          #state { font-size: .85rem; opacity: .8; margin-left: auto; }
          #state.on::before { content: "● "; color: var(--accent); }
          #state.off::before { content: "● "; color: var(--bad); }
          main { margin: 1rem 0; display: grid; gap: 1.5rem; grid-template-columns: minmax(0, 2fr) minmax(18rem, 1fr); }
          @media (max-width: 52rem) { main { grid-template-columns: 1fr; } }
          aside { display: grid; gap: 1rem; align-content: start; }
          .card { border: 1px solid var(--line); border-radius: .5rem; padding: .9rem 1rem; }
          table { width: 100%; border-collapse: collapse; }
          td, th { text-align: left; padding: .4rem .5rem; border-bottom: 1px solid var(--line); vertical-align: top; }
          th { font-size: .8rem; font-weight: 600; opacity: .7; }
          .number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
          #rows tr { cursor: pointer; }
          #rows tr:hover { background: var(--soft); }
          #rows tr[aria-selected=true] { background: #0a72; }
          .fresh td { animation: flash 1.6s; }
          @keyframes flash { from { background: #fd08; } }
          small, .hint { font-size: .85rem; opacity: .75; }
          form { display: grid; gap: .5rem; }
          .pair { display: grid; grid-template-columns: 1fr 1fr; gap: .5rem; }
          label { font-size: .85rem; }
          input, select, button, textarea { font: inherit; padding: .35rem .5rem; width: 100%; }
          button { cursor: pointer; border: 0; border-radius: .3rem; background: var(--accent); color: #fff; }
          button:disabled { opacity: .4; cursor: default; }
          header select, header input { width: auto; }
          #price { font-size: 1.5rem; font-weight: 600; }
          .error { color: var(--bad); font-size: .85rem; }
          .own td { font-weight: 600; }
        </style>
        </head>
        <body>
        <header>
          <h1>Live auctions</h1>
          <select id="category" aria-label="Category"><option value="">All categories</option></select>
          <label>You bid as <input id="name" size="12" maxlength="40"></label>
          <span id="state" class="off">connecting</span>
        </header>
        <main>
          <section>
            <table>
              <thead><tr><th>Lot</th><th class="number">Highest bid</th><th class="number">Closes in</th></tr></thead>
              <tbody id="rows"></tbody>
            </table>
            <p class="hint">Open this page in a second window: a bid in one shows in the other.
              Results of this list so far: <span id="count">0</span>.</p>
          </section>
          <aside>
            <div class="card">
              <h2 id="title">Choose a lot</h2>
              <div id="description" class="hint"></div>
              <div id="price"></div>
              <form id="bid">
                <div class="pair"><input id="amount" type="number" min="1" aria-label="Your bid in euros" disabled>
                  <button disabled>Bid</button></div>
              </form>
              <table><tbody id="bids"></tbody></table>
              <div class="error" id="error" role="alert"></div>
            </div>
            <div class="card">
              <h2>Top bidders</h2>
              <table><tbody id="board"></tbody></table>
            </div>
            <form class="card" id="create">
              <h2>Sell something</h2>
              <input id="newTitle" placeholder="Title" aria-label="Title" required>
              <input id="newText" placeholder="Description" aria-label="Description">
              <div class="pair">
                <label>Starting price, € <input id="newPrice" type="number" min="1" value="10" required></label>
                <label>Open for, minutes <input id="newMinutes" type="number" min="1" value="30" required></label>
              </div>
              <button>Create the lot</button>
            </form>
          </aside>
        </main>
        <script>
        const $ = id => document.getElementById(id);
        const categories = ["Books", "Cameras", "Ceramics", "Clocks", "Coins", "Furniture", "Hi-Fi", "Instruments",
          "Jewellery", "Maps", "Posters", "Toys"];
        for (const category of categories) $("category").append(new Option(category));
        $("category").value = new URLSearchParams(location.search).get("category") ?? "";
        $("name").value = localStorage.name ?? "guest" + Math.floor(1000 + Math.random() * 9000);
        $("name").onchange = () => localStorage.name = $("name").value;
        let socket, nextID = 1, attempts = 0, selected, list, lot, lotBids;
        const followed = new Map();

        // One socket for all subscriptions; after a reconnect each is sent again.
        function connect() {
          socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/graphql`,
            "graphql-transport-ws");
          socket.onopen = () => send({type: "connection_init"});
          socket.onmessage = ({data}) => {
            const message = JSON.parse(data);
            if (message.type === "connection_ack") {
              attempts = 0;
              state(true, "live");
              for (const [id, follower] of followed) subscribe(id, follower);
            }
            if (message.type === "ping") send({type: "pong"});
            const errors = message.type === "error" ? message.payload : message.payload?.errors;
            if (errors) $("error").textContent = errors[0].message;
            if (message.type === "next" && message.payload.data) followed.get(message.id)?.show(message.payload.data);
          };
          socket.onclose = () => {
            const delay = Math.min(10000, 250 * 2 ** attempts++) * (0.5 + Math.random() / 2);
            state(false, "reconnecting");
            setTimeout(connect, delay);
          };
        }
        const send = message => { if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message)); };
        function state(on, text) { $("state").className = on ? "on" : "off"; $("state").textContent = text; }
        function subscribe(id, {operationName, variables}) {
          send({type: "subscribe", id, payload: {query: "", operationName, variables}});
        }
        function follow(operationName, variables, show) {
          const id = String(nextID++);
          followed.set(id, {operationName, variables, show});
          if ($("state").className === "on") subscribe(id, followed.get(id));
          return () => { followed.delete(id); send({type: "complete", id}); };
        }

        // `freshet dev` accepts tokens without a signature, so the name alone identifies the user.
        async function mutate(operationName, variables) {
          const part = value => btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify(value))))
            .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
          const answer = await fetch("/graphql", {
            method: "POST",
            headers: {"content-type": "application/json",
              authorization: `Bearer ${part({alg: "none"})}.${part({sub: $("name").value})}.`},
            body: JSON.stringify({operationName, variables})});
          const {errors} = await answer.json();
          const reason = errors?.find(({message}) => !message.startsWith("("))?.message;
          $("error").textContent = reason ?? "";
          return !errors;
        }

        function cells(row, values) {
          for (const [text, kind] of values) {
            const cell = row.insertCell();
            cell.textContent = text ?? "";
            cell.className = kind ?? "";
          }
          return row;
        }
        const row = values => cells(document.createElement("tr"), values);
        const euros = amount => amount == null ? "no bid" : "€ " + amount.toLocaleString("en");
        function left(time) {
          const s = Math.max(0, Math.round((Date.parse(time) - Date.now()) / 1000));
          if (s === 0) return "ended";
          if (s >= 172800) return Math.floor(s / 86400) + " days";
          const two = n => String(n).padStart(2, "0");
          return (s >= 3600 ? Math.floor(s / 3600) + ":" : "") + two(Math.floor(s / 60) % 60) + ":" + two(s % 60);
        }

        let before = new Map();
        function showList({lots}) {
          $("count").textContent = Number($("count").textContent) + 1;
          const now = new Map(lots.map(lot => [lot.id, JSON.stringify(lot)]));
          $("rows").replaceChildren(...lots.map(lot => {
            const line = row([[lot.title], [euros(lot.highestBid), "number"], [left(lot.closesAt), "number"]]);
            const text = document.createElement("small");
            text.textContent = lot.category + (lot.description ? " · " + lot.description : "");
            line.cells[0].append(document.createElement("br"), text);
            line.dataset.id = lot.id;
            line.dataset.closesAt = lot.closesAt;
            if (before.size && before.get(lot.id) !== now.get(lot.id)) line.className = "fresh";
            line.setAttribute("aria-selected", String(selected === lot.id));
            line.onclick = () => select(lot.id);
            return line;
          }));
          before = now;
        }
        function select(id) {
          selected = id;
          lot?.();
          lotBids?.();
          $("error").textContent = "";
          lot = follow("GetLot", {id}, showLot);
          lotBids = follow("LotBids", {lotId: id}, showBids);
          for (const line of $("rows").rows) line.setAttribute("aria-selected", String(line.dataset.id === id));
        }
        function showBids({bids}) {
          const format = {day: "numeric", month: "short", hour: "2-digit", minute: "2-digit"};
          $("bids").replaceChildren(...bids.slice(0, 5).map(bid => row([
            [bid.user.uid], [euros(bid.amount), "number"],
            [new Date(bid.placedAt).toLocaleString("en-GB", format), "number"]])));
        }
        let shown;
        function showLot({lot}) {
          const isNew = shown?.id !== lot?.id || shown?.highestBid !== lot?.highestBid;
          shown = lot;
          $("title").textContent = lot?.title ?? "This lot was withdrawn";
          $("description").textContent = lot?.description ?? "";
          const price = lot?.highestBid == null ? "from " + euros(lot?.startPrice) : euros(lot.highestBid);
          $("price").textContent = lot ? price : "";
          if (lot && isNew) $("amount").value = lot.highestBid == null ? lot.startPrice : lot.highestBid + 5;
          for (const control of $("bid").elements) control.disabled = !lot?.open;
        }
        $("bid").onsubmit = async event => {
          event.preventDefault();
          const {id, category} = shown;
          if (await mutate("SaveAccount", {name: $("name").value}))
            await mutate("PlaceBid", {lotId: id, category, amount: Number($("amount").value)});
        };
        $("create").onsubmit = async event => {
          event.preventDefault();
          const closesAt = new Date(Date.now() + Number($("newMinutes").value) * 60000).toISOString();
          const made = await mutate("SaveAccount", {name: $("name").value}) && await mutate("CreateLot", {
            title: $("newTitle").value, category: $("category").value || "Books", description: $("newText").value,
            startPrice: Number($("newPrice").value), closesAt});
          if (made) { $("newTitle").value = ""; $("newText").value = ""; }
        };
        function choose() {
          list?.();
          before = new Map();
          list = follow("ListLots", $("category").value ? {category: $("category").value} : {}, showList);
        }
        $("category").onchange = choose;
        setInterval(() => {
          for (const line of $("rows").rows) line.cells[2].textContent = left(line.dataset.closesAt);
        }, 1000);
        choose();
        follow("TopBidders", {limit: 5}, ({bids}) => $("board").replaceChildren(...bids.map(group => {
          const bidsOf = group._count + (group._count === 1 ? " bid" : " bids");
          const line = row([[group.userUid], [bidsOf, "number"], [euros(Number(group.amount_sum)), "number"]]);
          if (group.userUid === $("name").value) line.className = "own";
          return line;
        })));
        connect();
        </script>
        </body>
        </html>
        """#
}

/// The page of `freshet dev` at `/`: a live list of movies and an edit form, over `graphql-transport-ws` and the plain
/// resource, without any library. It works with the operations of config/movies.
enum DemoPage {
    static let html = #"""
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>Freshet: live movies</title>
        <style>
          :root { color-scheme: light dark; --line: #8883; --accent: #0a7; }
          body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
          header { display: flex; gap: 1rem; align-items: baseline; flex-wrap: wrap; }
          h1 { font-size: 1.4rem; margin: 0; }
          #state { font-size: .85rem; opacity: .75; }
          #state.on::before { content: "● "; color: var(--accent); }
          #state.off::before { content: "● "; color: #c40; }
          main { display: grid; grid-template-columns: 2fr 1fr; gap: 2rem; margin-top: 1.5rem; }
          @media (max-width: 45rem) { main { grid-template-columns: 1fr; } }
          table { width: 100%; border-collapse: collapse; }
          td, th { text-align: left; padding: .35rem .5rem; border-bottom: 1px solid var(--line); vertical-align: top; }
          tbody tr { cursor: pointer; }
          tbody tr[aria-selected=true] { background: #0a72; }
          tbody tr.fresh td { animation: flash 1.6s; }
          @keyframes flash { from { background: #fd06; } }
          form { display: grid; gap: .6rem; align-content: start; }
          input, textarea, select, button { font: inherit; padding: .4rem .5rem; width: 100%; box-sizing: border-box; }
          .hint { font-size: .85rem; opacity: .75; }
          .error { color: #c40; min-height: 1.5em; font-size: .85rem; }
        </style>
        </head>
        <body>
        <header>
          <h1>Live movies</h1>
          <select id="genre" aria-label="Genre" style="width:auto"></select>
          <span id="state" class="off">connecting</span>
        </header>
        <main>
          <section>
            <table><thead><tr><th>Title</th><th>Year</th><th>Description</th></tr></thead><tbody id="rows"></tbody></table>
            <p class="hint">Open this page in a second window: an edit in one shows in the other.
              Results so far: <span id="count">0</span>.</p>
          </section>
          <form id="edit">
            <strong id="title">Choose a movie</strong>
            <label>Description <textarea id="description" rows="5" disabled></textarea></label>
            <button disabled>Save</button>
            <div class="error" id="error" role="alert"></div>
          </form>
        </main>
        <script>
        const $ = id => document.getElementById(id);
        const genres = ["Sci-Fi", "Drama", "Comedy", "Action", "Thriller"];
        for (const genre of genres) $("genre").append(new Option(genre));
        const wanted = new URLSearchParams(location.search).get("genre");
        if (wanted) $("genre").value = wanted;
        let socket, nextID = 1, current, results = 0, selected, rows = new Map(), attempts = 0;

        function connect() {
          socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/graphql`,
            "graphql-transport-ws");
          socket.onopen = () => send({type: "connection_init"});
          socket.onmessage = ({data}) => {
            const message = JSON.parse(data);
            if (message.type === "connection_ack") { attempts = 0; state(true, "live"); subscribe(); }
            if (message.type === "ping") send({type: "pong"});
            if (message.id !== current) return;
            if (message.type === "next") show(message.payload);
            if (message.type === "error") $("error").textContent = message.payload[0].message;
          };
          socket.onclose = () => {
            const delay = Math.min(10000, 250 * 2 ** attempts++) * (0.5 + Math.random() / 2);
            state(false, "reconnecting");
            setTimeout(connect, delay);
          };
        }
        const send = message => socket.send(JSON.stringify(message));
        function state(on, text) { $("state").className = on ? "on" : "off"; $("state").textContent = text; }
        function subscribe() {
          if (socket.readyState !== WebSocket.OPEN) return;
          if (current) send({type: "complete", id: current});
          current = String(nextID++);
          rows = new Map();
          send({type: "subscribe", id: current, payload: {
            query: "", operationName: "ListMoviesByGenre", variables: {genre: $("genre").value}}});
        }
        function show(payload) {
          if (payload.errors) $("error").textContent = payload.errors[0].message;
          if (!payload.data) return;
          $("count").textContent = ++results;
          const before = rows;
          rows = new Map();
          $("rows").replaceChildren(...payload.data.movies.map(movie => {
            const text = JSON.stringify(movie);
            rows.set(movie.id, text);
            const row = document.createElement("tr");
            row.dataset.id = movie.id;
            if (before.size && before.get(movie.id) !== text) row.className = "fresh";
            row.setAttribute("aria-selected", String(selected?.id === movie.id));
            for (const value of [movie.title, movie.releaseYear, movie.description]) {
              const cell = document.createElement("td");
              cell.textContent = value ?? "";
              row.append(cell);
            }
            row.onclick = () => select(movie);
            return row;
          }));
        }
        function select(movie) {
          selected = movie;
          $("title").textContent = movie.title;
          $("description").value = movie.description ?? "";
          $("description").disabled = $("edit").querySelector("button").disabled = false;
          for (const row of $("rows").children) row.setAttribute("aria-selected", String(row.dataset.id === movie.id));
        }
        $("genre").onchange = subscribe;
        $("edit").onsubmit = async event => {
          event.preventDefault();
          $("error").textContent = "";
          const answer = await fetch("/graphql", {
            method: "POST", headers: {"content-type": "application/json"},
            body: JSON.stringify({operationName: "UpdateMovie", variables: {
              id: selected.id, genre: $("genre").value, description: $("description").value}})});
          const result = await answer.json();
          if (result.errors) $("error").textContent = result.errors[0].message;
        };
        connect();
        </script>
        </body>
        </html>
        """#
}

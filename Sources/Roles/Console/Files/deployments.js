// Deployments: the versions of the project, what each changed, who is on it, and the way back.

import {follow} from "./api.js";
import {badge, card, duration, h, note, number, plural, short, show} from "./dom.js";
import {adoption, missing} from "./sessions.js";
import {table} from "./table.js";

const severities = {error: "critical", warning: "warning"};

/** What a version changed, in words. */
function summary(changes) {
  if (!changes) return "–";
  const parts = [["added", "added"], ["removed", "removed"], ["changed", "changed"]]
    .filter(([name]) => changes[name].length).map(([name, word]) => `${number(changes[name].length)} ${word}`);
  return parts.join(", ") || "no operation";
}

function details({version, former, changes}) {
  const list = (title, names) => names.length ? [h("h3", {}, title), h("ul", {}, names.map(name => h("li", {}, name)))]
    : "";
  return card(`${short(version)} after ${short(former)}`, findings(changes),
    list("Added", changes.added), list("Removed", changes.removed), list("Changed", changes.changed));
}

const findings = changes => changes.findings.length
  ? h("ul", {class: "problems"}, changes.findings.map(({severity, message, help}) => h("li", {},
    badge(severity === "error" ? "breaks clients" : severity, severities[severity] ?? ""), " ", message,
    help ? h("p", {class: "hint"}, help) : "")))
  : note("Clients of the version before notice nothing.");

/** What to type: a rollback migrates and waits for every node, which a node cannot do for the others. */
const wayBack = ({version, command, changes}) => card("Roll back", h("p", {}, "This makes ",
  h("code", {title: version}, short(version)), " current again. It brings the database to that version and waits for ",
  "all nodes, so it runs from a shell with the rights and settings of a deployment, and not from this page:"),
h("pre", {tabindex: 0}, command), changes ? [h("h3", {}, "What clients of the current version would notice"),
  findings(changes)] : note("That version is no longer stored, or does not compile here.", "warning"));

export async function open(place, {signal}) {
  const problems = h("div");
  const chosen = h("div", {id: "deployment-changes", "aria-live": "polite"});
  const rollback = h("div", {id: "rollback"});
  let choice;
  const versions = table({
    label: "Versions of the project", empty: "Nothing is deployed, and no node has run yet.",
    columns: [
      {name: "id", label: "Version", show: row => h("code", {title: row.version}, short(row.version))},
      {name: "state", label: "State", show: row => badge(row.standing ?? (row.isCurrent ? "current" : "over"),
        row.isCurrent ? "ok" : "")},
      {name: "sinceMs", label: "Since", isNumber: true,
        show: row => row.sinceMs ? `${duration(Date.now() - row.sinceMs)} ago` : "–"},
      {name: "by", label: "By"},
      {name: "sessions", label: "Sessions", isNumber: true, show: row => number(row.sessions)},
      {name: "nodes", label: "Nodes", show: row => row.nodes.join(", ") || "–", order: row => row.nodes.length},
      {name: "changes", label: "Operations", order: row => summary(row.changes), show: row => summary(row.changes)},
      {name: "breaking", label: "Breaking", isNumber: true, order: row => row.changes?.breaking ?? -1,
        show: row => !row.changes ? "–" : row.changes.breaking
          ? badge(number(row.changes.breaking), "critical") : "0"},
      {name: "action", label: "Action", show: row => row.changes ? h("button", {type: "button", class: "small",
        "aria-label": `Changes of ${short(row.version)}`, onclick: () => { choice = row.id; draw(); }}, "Changes")
        : "–"},
    ],
  });
  const use = adoption();
  show(place, h("p", {class: "hint"}, h("code", {}, "freshet deploy"),
    " gives the cluster a new version. Sessions keep the version that they began with until they move to it."),
  problems, card("Versions", versions), chosen, rollback, use.versions);
  let drawn;
  function draw() {
    const row = versions.rows.find(({id}) => id === choice);
    if (row && drawn !== choice) show(chosen, details(row));
    drawn = choice;
  }
  let former;
  follow(signal, {
    path: () => "/admin/v1/deployments",
    show(answer) {
      versions.rows = answer.deployments.map(row => ({...row, id: `${row.deployment ?? ""} ${row.version}`,
        sinceMs: row.activeAtMs ?? row.createdAtMs}));
      draw();
      show(problems, missing(answer.unreachable), answer.problems.length ? h("ul", {class: "problems"},
        answer.problems.map(({node, problem}) => h("li", {}, `${node}: ${problem}`))) : "");
      if (JSON.stringify(answer.rollback) !== former) {
        former = JSON.stringify(answer.rollback);
        show(rollback, answer.rollback ? wayBack(answer.rollback) : "");
      }
    },
    failed: error => show(problems, note(error.message, "bad")),
  });
  use.follow(signal);
}

"""What the page of a plan does in a browser: lists the moves, filters them by topic and broker, counts what is shown.

It reads the data of `plan_page`, writes text and never markup, and asks nobody for anything.
"""

STYLE = """
#theme { float: right; }
button, input { font: inherit; color: inherit; background: var(--band); border: 1px solid var(--grid);
  border-radius: 4px; padding: .15rem .5rem; }
input { background: var(--paper); } :focus-visible { outline: 2px solid var(--copy); }
ul.bad { font-weight: 600; } .pick { padding: 0 .4rem; cursor: pointer; }
td.bars { min-width: 9rem; width: 30%; }
td.bars i { display: block; height: 4px; margin: 2px 0; background: var(--soft); }
td.bars i:nth-child(2) { background: var(--fault); }
td.bars i:nth-child(3), td.bars i:only-child { background: var(--copy); }
td.left, th.left { text-align: left; } td.prose { width: 40%; }
form label { margin-right: 1rem; white-space: nowrap; } #shown { font-weight: 600; }
tr[aria-current=true] { background: var(--band); }
@media (max-width: 40rem) { body { margin: 1rem auto; padding: 0 .75rem; } th, td { padding: .2rem .4rem; }
  form label { display: block; margin: .3rem 0; } td.bars { min-width: 4rem; } }
"""

SCRIPT = """
"use strict";
const $ = id => document.getElementById(id);
const PAGE = 200;
const theme = () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
};
$("theme").addEventListener("click", theme);
const size = count => {
  if (count < 1000) return count + " B";
  let amount = count;
  for (const unit of ["kB", "MB", "GB", "TB"]) {
    amount /= 1000;
    if (amount < 999.5) return Number(amount.toPrecision(3)) + " " + unit;
  }
  return Number((amount / 1000).toPrecision(3)) + " PB";
};
const read = data => {
  const moves = [];
  for (const [topic, rows] of data.topics) {
    let next = 0;
    for (const row of rows.split("|")) {
      const [lists, bytes, leader, reason] = row.split(";");
      const colon = lists.indexOf(":");
      const partition = colon < 0 ? next : Number(lists.slice(0, colon));
      const [from, to] = lists.slice(colon + 1).split(">").map(text => text.split(",").map(Number));
      const fresh = to.filter(broker => !from.includes(broker)).length;
      moves.push({topic, partition, from, to, copied: fresh * Number(bytes), fresh,
        leader: leader === "" ? null : from[Number(leader)], reason: data.reasons[Number(reason)]});
      next = partition + 1;
    }
  }
  return moves;
};
const main = () => {
  const moves = read(JSON.parse($("data").textContent));
  const body = $("moves").tBodies[0];
  let chosen = moves, listed = 0;
  const cell = (row, text, kind = "") => {
    const made = row.insertCell();
    made.textContent = text;
    made.className = kind;
  };
  const more = count => {
    const rows = document.createDocumentFragment();
    for (const move of chosen.slice(listed, listed + count)) {
      const row = document.createElement("tr");
      cell(row, move.topic + "-" + move.partition, "left");
      cell(row, "[" + move.from + "]", "left");
      cell(row, "[" + move.to + "]", "left");
      cell(row, move.fresh ? size(move.copied) : "–");
      cell(row, move.leader === move.to[0] ? String(move.to[0]) : (move.leader ?? "none") + " → " + move.to[0], "left");
      cell(row, move.reason, "prose");
      rows.append(row);
    }
    body.append(rows);
    listed = Math.min(chosen.length, listed + count);
    $("more").hidden = listed >= chosen.length;
    $("more").textContent = "more (" + (chosen.length - listed).toLocaleString("en") + ")";
  };
  const choose = () => {
    const topic = $("topic").value.trim(), text = $("broker").value.trim();
    const broker = text === "" ? null : Number(text);
    chosen = moves.filter(move => move.topic.includes(topic) &&
      (broker === null || move.from.includes(broker) || move.to.includes(broker)));
    const copied = chosen.reduce((sum, move) => sum + move.copied, 0);
    $("shown").textContent = chosen.length.toLocaleString("en") + " of " + moves.length.toLocaleString("en") +
      (moves.length === 1 ? " move" : " moves") + "; " + size(copied) + " to copy";
    for (const button of document.querySelectorAll(".pick"))
      button.closest("tr").setAttribute("aria-current", String(Number(button.dataset.broker) === broker));
    body.replaceChildren();
    listed = 0;
    more(PAGE);
  };
  $("filter").addEventListener("input", choose);
  $("filter").addEventListener("submit", event => event.preventDefault());
  const all = () => { $("topic").value = $("broker").value = ""; choose(); };
  $("all").addEventListener("click", all);
  $("more").addEventListener("click", () => more(PAGE));
  for (const button of document.querySelectorAll(".pick"))
    button.addEventListener("click", () => {
      $("broker").value = $("broker").value === button.dataset.broker ? "" : button.dataset.broker;
      choose();
      $("filter").scrollIntoView({block: "nearest"});
    });
  document.addEventListener("keydown", event => {
    if (event.key === "/" && document.activeElement.tagName !== "INPUT") { event.preventDefault(); $("topic").focus(); }
    if (event.key === "Escape") all();
  });
  choose();
};
if ($("data")) main();
document.documentElement.dataset.ready = "true";
"""

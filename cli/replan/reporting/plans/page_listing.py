"""What the pages of a plan and of drift share in a browser: a list that is filtered by name and broker, and the theme.

A page embeds its rows as JSON, and its own script calls `listing` with what it read. Rows are written as text and never
as markup, some hundred at a time, since there may be a hundred thousand; nobody is asked for anything.
"""

import json
from collections.abc import Iterator, Mapping

THEME = '<div class="screen"><button id="theme" type="button">dark or light</button></div>'
_CONTROLS = """<h2>{title}</h2>
<form class="screen" id="filter"><label>topic <input id="topic" type="search" placeholder="part of a name" \
autocomplete="off" spellcheck="false"></label> <label>broker <input id="broker" inputmode="numeric" size="6"></label> \
<button type="button" id="all">all</button> <span class="soft">/ to type a topic, Esc for all</span></form>
<p id="shown" role="status" aria-live="polite"></p>
<div class="wide"><table id="{table}" class="listing"><thead><tr>{heads}</tr></thead>
<tbody></tbody></table></div>
<p><button type="button" id="more">more</button></p>
<noscript><p>{otherwise}</p></noscript>"""

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
td.long { white-space: normal; overflow-wrap: anywhere; min-width: 12rem; }
td.left, th.left { text-align: left; } td.prose { width: 40%; }
form label { margin-right: 1rem; white-space: nowrap; } #shown { font-weight: 600; }
tr[aria-current=true] { background: var(--band); }
@media (max-width: 40rem) { body { margin: 1rem auto; padding: 0 .75rem; } th, td { padding: .2rem .4rem; }
  form label { display: block; margin: .3rem 0; } td.bars { min-width: 4rem; }
  table.listing, .listing tbody { display: block; } .listing thead { display: none; }
  .listing tr { display: flex; flex-wrap: wrap; gap: 0 .75rem; padding: .3rem 0; border-bottom: 1px solid var(--grid); }
  .listing td { border: 0; padding: 0; text-align: left; min-width: 0; }
  .listing td::before { content: attr(data-head) " "; color: var(--soft); }
  .listing td:first-child, .listing td.prose, .listing td.long { flex: 1 1 100%; width: auto; }
  .listing td:first-child { font-weight: 600; } .listing td:first-child::before { content: none; } }
"""

SCRIPT = """
"use strict";
const $ = id => document.getElementById(id);
const PAGE = 200, LONG = 48;
const theme = () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
};
$("theme").addEventListener("click", theme);
const HIDDEN = /[\\u0000-\\u001f\\u007f-\\u009f\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]/g;
const visible = text => String(text).replace(HIDDEN, found =>
  "\\\\u" + found.charCodeAt(0).toString(16).padStart(4, "0"));
const named = (topic, partition) => partition === null ? topic : topic + "-" + partition;
const listing = (rows, {cells, brokers, summary}) => {
  const table = document.querySelector("table.listing"), body = table.tBodies[0];
  const heads = Array.from(table.tHead.rows[0].cells, head => head.textContent);
  let chosen = rows, listed = 0, kind = null;
  const more = () => {
    const made = document.createDocumentFragment();
    for (const found of chosen.slice(listed, listed + PAGE)) {
      const row = document.createElement("tr");
      for (const [text, style] of cells(found)) {
        const cell = row.insertCell();
        cell.textContent = visible(text);
        cell.dataset.head = heads[cell.cellIndex];
        cell.className = style ?? "";
        cell.classList.toggle("long", cell.textContent.length > LONG);
      }
      made.append(row);
    }
    body.append(made);
    listed = Math.min(chosen.length, listed + PAGE);
    $("more").hidden = listed >= chosen.length;
    $("more").textContent = "and " + (chosen.length - listed).toLocaleString("en") + " more";
  };
  const choose = () => {
    const topic = $("topic").value.trim(), text = $("broker").value.trim();
    const broker = text === "" ? null : Number(text);
    chosen = rows.filter(row => row.topic.includes(topic) && (kind === null || row.kind === kind) &&
      (broker === null || brokers(row).includes(broker)));
    $("shown").textContent = chosen.length.toLocaleString("en") + " of " + rows.length.toLocaleString("en") +
      summary(chosen, rows);
    for (const button of document.querySelectorAll(".pick"))
      button.closest("tr").setAttribute("aria-current",
        String(button.dataset.broker ? Number(button.dataset.broker) === broker : button.dataset.kind === kind));
    body.replaceChildren();
    listed = 0;
    more();
  };
  $("filter").addEventListener("input", choose);
  $("filter").addEventListener("submit", event => event.preventDefault());
  const all = () => { $("topic").value = $("broker").value = ""; kind = null; choose(); };
  $("all").addEventListener("click", all);
  $("more").addEventListener("click", more);
  for (const button of document.querySelectorAll(".pick"))
    button.addEventListener("click", () => {
      if (button.dataset.kind) kind = kind === button.dataset.kind ? null : button.dataset.kind;
      else $("broker").value = $("broker").value === button.dataset.broker ? "" : button.dataset.broker;
      choose();
      $("filter").scrollIntoView({block: "nearest"});
    });
  document.addEventListener("keydown", event => {
    if (event.key === "/" && document.activeElement.tagName !== "INPUT") { event.preventDefault(); $("topic").focus(); }
    if (event.key === "Escape") all();
  });
  choose();
};
"""

READY = """
if ($("data")) main(JSON.parse($("data").textContent));
document.documentElement.dataset.ready = "true";
"""


def listing(
    title: str, table: str, heads: Mapping[str, str], data: object, otherwise: str
) -> Iterator[str]:
    """The filter, an empty table with these heads (name: CSS class), and its rows as data.

    `otherwise` is said where no script runs. No `<` is in the data, so that nothing ends its element.
    """
    cells = "".join(f'<th class="{style}">{name}</th>' for name, style in heads.items())
    yield _CONTROLS.format(title=title, table=table, heads=cells, otherwise=otherwise)
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    yield f'<script type="application/json" id="data">{text}</script>'

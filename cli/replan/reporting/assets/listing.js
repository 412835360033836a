const PAGE = 200, LONG = 48;
const named = (topic, partition) => partition === null ? topic : topic + "-" + partition;
const listing = (rows, {cells, brokers, summary}) => {
  const table = document.querySelector("table.filtered"), body = table.tBodies[0];
  const heads = Array.from(table.tHead.rows[0].cells, head => head.textContent);
  let chosen = rows, listed = 0, kind = null;
  const more = () => {
    const made = document.createDocumentFragment();
    for (let at = listed; at < Math.min(chosen.length, listed + PAGE); at += 1) {
      const row = document.createElement("tr");
      for (const [text, style] of cells(chosen[at], chosen[at - 1])) {
        const cell = row.insertCell();
        // a text, or parts of it that have a tone each
        for (const [part, tone] of Array.isArray(text) ? text : [[text]]) {
          const span = tone ? document.createElement("span") : null;
          if (span) { span.className = tone; span.textContent = visible(part); }
          cell.append(...(span ? [span] : worded(part)));
        }
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

const EVERY = 5000;
const made = (name, text, style) => {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = visible(text);
  if (style) element.className = style;
  return element;
};
const sentence = (name, text) => {
  const element = made(name);
  element.append(...worded(text));
  return element;
};
const span = seconds => {
  const s = Math.round(seconds), m = Math.round(s / 60);
  if (s < 90) return s + " s";
  if (m < 90) return m + " min";
  if (m < 2880) { const h = Math.floor(m / 60); return h + " h" + (m % 60 ? " " + m % 60 + " min" : ""); }
  return Math.round(m / 1440) + " days";
};
const moment = (at, now) => {
  const element = made("time", at > now ? "in " + span(at - now) : span(now - at) + " ago");
  const date = new Date(at * 1000);
  element.dateTime = date.toISOString();
  element.title = date.toISOString().replace("T", " ").slice(0, 19) + " UTC; here " + date.toLocaleString();
  return element;
};
const shown = (cell, now) => {
  if (typeof cell === "string") return document.createTextNode(visible(cell));
  if (cell.type === "moment") return moment(cell.at, now);
  if (cell.type === "link") {
    const link = made("a", cell.text);
    if (/^plans\/[0-9a-f]+\.html$/.test(cell.path)) link.href = cell.path;
    return link;
  }
  const whole = made("span"), meter = made("meter");
  meter.value = cell.part;
  whole.append(meter, visible(cell.text));
  return whole;
};
const table = (of, now) => {
  const wide = made("div", undefined, "wide"), body = made("table", undefined, "listing");
  const style = i => of.right.includes(i) ? "right" : "left";
  const head = body.createTHead().insertRow();
  of.heads.forEach((name, i) => head.append(made("th", name, style(i))));
  const rows = body.createTBody();
  let above = [];
  for (const cells of of.rows) {
    const row = rows.insertRow(), before = above;
    above = cells;
    cells.forEach((cell, i) => {
      const place = row.insertCell();
      place.className = style(i);
      place.dataset.head = of.heads[i];
      // a sentence that is the same as above is not said again
      const again = i > 0 && typeof cell === "string" && cell.length > 15 && cell === before[i];
      if (cell !== "" && !again) place.append(shown(cell, now));
    });
  }
  wide.append(body);
  if (of.more) wide.append(sentence("p", of.more));
  return wide;
};
const block = (of, now) => {
  const section = made("section");
  if (of.title) section.append(made("h2", of.title));
  for (const text of of.lines) section.append(sentence("p", text));
  if (of.facts.length) {
    const list = made("dl");
    for (const fact of of.facts) {
      const value = made("dd");
      fact.cells.forEach((cell, i) => value.append(i ? " \u00b7 " : "", shown(cell, now)));
      list.append(made("dt", fact.name), value);
    }
    section.append(list);
  }
  for (const each of of.tables) section.append(table(each, now));
  return section;
};
let last = null, heard = 0;
const draw = () => {
  const now = Date.now() / 1000 - skew;
  document.title = visible(last.title);
  $("cluster").textContent = visible(last.cluster);
  $("state").textContent = last.state;
  $("state").className = "badge " + last.tone;
  const since = moment(last.since, now);
  since.textContent = "for " + span(now - last.since);
  $("since").replaceChildren(since);
  $("text").replaceChildren(sentence("span", last.text));
  $("reasons").replaceChildren(...last.reasons.map(text => sentence("li", text)));
  const places = Array.from(document.querySelectorAll(".wide"), e => e.scrollLeft);
  $("blocks").replaceChildren(...last.blocks.map(each => block(each, now)));
  document.querySelectorAll(".wide").forEach((e, i) => { e.scrollLeft = places[i] || 0; });
  $("now").hidden = false;
  $("lost").hidden = !last.stale;
  $("lost").textContent = "The loop has said nothing for " + span(now - last.at) + "; it hangs, or has ended.";
};
let skew = 0;
const ask = async () => {
  try {
    const answer = await fetch("view.json", {cache: "no-store", signal: AbortSignal.timeout(EVERY * 2)});
    if (!answer.ok) throw new Error(answer.status);
    last = await answer.json();
    heard = Date.now();
    skew = heard / 1000 - last.now;
    if (!getSelection().toString() || $("now").hidden) draw();
  } catch {
    $("lost").hidden = false;
    const silent = "No answer for " + span((Date.now() - heard) / 1000) + "; what is below is as of then.";
    $("lost").textContent = heard ? silent : "The loop does not answer.";
  }
  document.documentElement.dataset.ready = "true";
  setTimeout(ask, EVERY);
};
document.addEventListener("visibilitychange", () => { if (!document.hidden && last) draw(); });
ask();

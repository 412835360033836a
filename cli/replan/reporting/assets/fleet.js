// what drifted, what was put right and what is acknowledged, filtered together
const FIRST = 25, MORE = 500;
const listed = {};  // how many rows of each table
const data = JSON.parse($("data").textContent);
const el = (name, attributes, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value) made.setAttribute(key, value);
  made.append(...children);
  return made;
};
const number = n => n.toLocaleString("en-US");
const bytes = n => {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let at = 0;
  while (n >= 1000 && at < units.length - 1) { n /= 1000; at += 1; }
  return (at && n < 10 ? n.toFixed(1) : Math.round(n)) + " " + units[at];
};
const time = text => text ? text.replace("T", " ").replace(/:\d\d(\.\d+)?Z$/, "") : "";
const list = brokers => brokers && brokers.length ? "[" + brokers.join(",") + "]" : "";
const led = row => row.kind === "leader" ? (row.leader == null ? ", led by none" : ", led by " + row.leader) : "";
const left = text => [[visible(text)], "left"];
const code = text => [[el("code", {}, visible(text))], "left"];
const amount = text => [[text], ""];
const spells = row => [[
  row.spells > 1 || row.flapping ? number(row.spells) + " times " : "",
  ...(row.flapping ? [el("span", {class: "tag", title: "began three times or more in a week"}, "flapping")] : []),
], "left"];
const TABLES = {
  drift: {
    heads: ["cluster", "what", "class", "kind", "declared", "is", "since", "began", "to copy", "owner"],
    file: "drift.csv", noun: "drift", numbers: [8],
    cells: r => [left(r.cluster), code(r.item), left(r.class), left(r.kind), left(list(r.declared)),
      list(r.observed) ? left(list(r.observed) + led(r)) : [[visible(r.detail || "")], "prose"],
      left(time(r.since)), spells(r), amount(r.copy_bytes ? bytes(r.copy_bytes) : ""), left(r.owner || "")],
  },
  resolved: {
    heads: ["cluster", "what", "class", "kind", "since", "until", "by application", "began", "owner"],
    file: "resolved.csv", noun: "resolved", numbers: [],
    cells: r => [left(r.cluster), code(r.item), left(r.class), left(r.kind), left(time(r.since)), left(time(r.resolved_at)),
      r.resolved_by ? code(r.resolved_by) : [[el("span", {class: "soft",
        title: "another tool, a broker that came back, or an application that the journal has forgotten"}, "not by replan")], "left"],
      spells(r), left(r.owner || "")],
  },
  acknowledged: {
    heads: ["cluster", "what", "since", "until", "owner"], file: "acknowledged.csv", noun: "acknowledged", numbers: [],
    cells: r => [left(r.cluster), code(r.item), left(time(r.since)), left(r.until || ""), left(r.owner || "")],
  },
};
const matching = () => {
  const text = $("text").value.toLowerCase(), cluster = $("cluster").value, kind = $("class").value;
  const flapping = $("flapping").checked;
  return r => (!cluster || r.cluster === cluster) && (!kind || (r.class ?? "acknowledged") === kind) && (!flapping || r.flapping) &&
    (!text || [r.item, r.owner, r.detail, r.resolved_by].some(part => (part || "").toLowerCase().includes(text)));
};
const rest = (left, show) => {
  const button = el("button", {type: "button", class: "rest screen"}, "and " + number(left) + " more");
  button.addEventListener("click", () => { button.remove(); show(); });
  return button;
};
const draw = (name, fits) => {
  const of = TABLES[name], found = data[name].filter(fits), most = listed[name] ??= FIRST;
  const more = data.left[name] ? "; " + number(data.left[name]) + " more are in " + of.file : "";
  $(name + "-count").textContent = number(found.length) + " of " + number(data[name].length) + more;
  const rows = found.slice(0, most).map(of.cells), place = $(name).parentElement;
  if (place.nextElementSibling?.matches(".rest")) place.nextElementSibling.remove();
  if (found.length > most) place.after(rest(found.length - most, () => { listed[name] += MORE; draw(name, matching()); }));
  // columns that are empty in every row are left out
  const kept = of.heads.map((_, at) => at).filter(at => rows.some(row => row[at][0].some(part => part !== "")));
  const cell = ([parts, style], at) => el("td", {class: style, "data-head": of.heads[at]}, ...parts.filter(part => part !== ""));
  $(name).replaceChildren(
    el("thead", {}, el("tr", {}, ...kept.map(at => el("th", {class: of.numbers.includes(at) ? "" : "left"}, of.heads[at])))),
    el("tbody", {}, ...rows.map(row => el("tr", {}, ...kept.map(at => cell(row[at], at))))));
};
const show = () => {
  const fits = matching();
  for (const name of Object.keys(TABLES)) draw(name, fits);
  for (const button of picks) button.closest("tr").setAttribute("aria-current", String(button.dataset.cluster === $("cluster").value));
};
// what stands on the page is folded, too: the worst come first
for (const all of document.querySelectorAll("body > ul, #clusters tbody")) {
  const late = [...all.children].slice(FIRST);
  for (const one of late) one.hidden = true;
  if (late.length) (all.closest(".wide") ?? all).after(rest(late.length, () => late.forEach(one => { one.hidden = false; })));
}
const picks = document.querySelectorAll(".pick");
const options = (target, title, names) =>
  target.append(el("option", {}, title), ...names.map(name => el("option", {value: name}, visible(name))));
options($("cluster"), "all clusters", Array.from(picks, button => button.dataset.cluster).sort());
options($("class"), "all classes", [...new Set([...data.drift, ...data.resolved].map(r => r.class))].sort());
$("cluster").options[0].value = $("class").options[0].value = "";
for (const button of picks) button.addEventListener("click", () => {
  $("cluster").value = $("cluster").value === button.dataset.cluster ? "" : button.dataset.cluster;
  show();
  $("what").scrollIntoView();
});
for (const id of ["text", "cluster", "class", "flapping"]) $(id).addEventListener("input", show);
$("reset").addEventListener("click", () => {
  for (const id of ["text", "cluster", "class"]) $(id).value = "";
  $("flapping").checked = false;
  show();
});
$("past").hidden = !data.resolved.length;
$("accepted").hidden = !data.acknowledged.length;
show();

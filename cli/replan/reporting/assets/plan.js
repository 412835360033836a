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
const toned = (list, tone) => [["["], ...list.flatMap((broker, at) =>
  [...(at ? [[","]] : []), [String(broker), tone(broker, at)]]), ["]"]];
// which members of `to` are where they were among those that stay
const stayed = (from, to) => {
  const kept = from.filter(broker => to.includes(broker));
  let next = 0;
  return to.map(broker => !from.includes(broker) || kept[next++] === broker);
};
const main = data => listing(read(data), {
  brokers: move => move.from.concat(move.to),
  cells: (move, above) => [
    [named(move.topic, move.partition), "left"],
    [toned(move.from, broker => move.to.includes(broker) ? "" : "goes"), "left"],
    [toned(move.to, (broker, at) => !move.from.includes(broker) ? "comes" : stayed(move.from, move.to)[at] ? "" : "changes"),
      "left"],
    [move.fresh ? size(move.copied) : "–"],
    [move.leader === move.to[0] ? String(move.to[0]) : (move.leader ?? "none") + " → " + move.to[0], "left"],
    [move.reason === above?.reason ? "" : move.reason, "prose"], // equal reasons once
  ],
  summary: (chosen, moves) => (moves.length === 1 ? " move" : " moves") + "; " +
    size(chosen.reduce((sum, move) => sum + move.copied, 0)) + " to copy",
});

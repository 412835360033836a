const numbers = text => text.startsWith("[") ? JSON.parse(text) : /^\d+$/.test(text) ? [Number(text)] :
  text.startsWith("broker ") ? [Number(text.slice(7))] : [];
const read = ({kinds, classes}) => classes.flatMap(([kind, title, topics]) => topics.flatMap(([topic, rows]) =>
  rows.map(([partition, how, declared, has, since]) =>
    ({kind, title, topic, partition, how: kinds[how], declared, has, since}))));
const main = data => listing(read(data), {
  brokers: row => [...numbers(row.declared), ...numbers(row.has), ...numbers(row.topic)],
  cells: (row, above) => [
    [named(row.topic, row.partition), "left"],
    [row.declared || "–", "left"],
    [row.has || "–", "left"],
    [row.how, "left"],
    [row.title === above?.title ? "" : row.title, "prose"], // equal causes once
    ...(row.since === undefined ? [] : [[row.since, "left"]]),
  ],
  // what is on its way is listed, and is no difference
  summary: (chosen, rows) => {
    const coming = chosen.filter(row => row.kind === "in-flight").length;
    const listed = rows.length === 1 ? " difference" : " differences";
    return coming ? " listed: " + (chosen.length - coming).toLocaleString("en") + listed + ", " +
      coming.toLocaleString("en") + " on the way" : listed;
  },
});

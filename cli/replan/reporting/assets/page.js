"use strict";
const $ = id => document.getElementById(id);
const theme = () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
};
$("theme").addEventListener("click", theme);
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
const visible = text => String(text).replace(HIDDEN, found =>
  "\\u" + found.charCodeAt(0).toString(16).padStart(4, "0"));
// the parts of a sentence: what stands between backticks is code
const worded = text => visible(text).split(/`([^`]+)`/).map((part, i) => {
  if (i % 2 === 0) return document.createTextNode(part);
  const code = document.createElement("code");
  code.textContent = part;
  return code;
});

// Opens a page as a person does and says what is on it: node page.mjs URL CHROMIUM ACTIONS, where ACTIONS is JSON.
// Prints JSON: what each action found, messages of the console, requests that were made, and how wide the page is.
import { chromium } from "playwright-core";

const [page, executablePath, actions] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const found = [], console_ = [], requests = [];
try {
  const { viewport, colorScheme, steps } = JSON.parse(actions);
  const context = await browser.newContext({ viewport, colorScheme });
  const tab = await context.newPage();
  tab.setDefaultTimeout(90_000); // other tests may have the machine meanwhile
  tab.on("console", message => console_.push(message.text()));
  tab.on("pageerror", error => console_.push(String(error)));
  tab.on("request", request => requests.push(request.url()));
  await tab.goto(page);
  for (const [what, where, value] of steps) {
    const at = ["press", "type", "media", "shot"].includes(what) || !where ? null : tab.locator(where);
    if (what === "text") found.push(await at.innerText());
    if (what === "texts") found.push(await at.allInnerTexts());
    if (what === "await") await at.waitFor();
    if (what === "count") found.push(await at.count());
    if (what === "click") await at.click();
    if (what === "fill") await at.fill(value);
    if (what === "press") await tab.keyboard.press(where);
    if (what === "type") await tab.keyboard.type(where);
    if (what === "focused") found.push(await tab.evaluate(() => document.activeElement.id));
    if (what === "style") found.push(await tab.locator(where).evaluate((e, name) => getComputedStyle(e)[name], value));
    if (what === "media") await tab.emulateMedia({ media: where });
    if (what === "visible") found.push(await at.isVisible());
    if (what === "boxes") found.push(await Promise.all((await at.all()).map(each => each.boundingBox())));
    if (what === "width") found.push(await tab.evaluate(() => document.documentElement.scrollWidth));
    if (what === "shot") await tab.screenshot({ path: where, fullPage: true });
  }
} finally {
  await browser.close();
}
console.log(JSON.stringify({ found, console: console_, requests }));

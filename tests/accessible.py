"""Checks of a page for people who see little, hear a screen reader, or use the keyboard alone. Run in the page; each problem is one line."""

from __future__ import annotations

from playwright.sync_api import Page

_NAMED = {"link", "button", "textbox", "combobox", "img", "image", "table", "region", "navigation", "searchbox", "checkbox", "heading"}
"""Roles that are of no use without a name."""
CHECKS = """
() => {
  const found = [];
  const say = (what, node) => found.push(what + ": " + (node ? node.outerHTML.slice(0, 160) : ""));
  const shown = (node) => node.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
  if (!document.documentElement.lang) say("no language", document.documentElement);
  if (!document.title.trim()) say("no title");
  for (const [what, selector, count] of [["h1", "h1", 1], ["main", "main", 1], ["banner", "body > header", 1], ["contentinfo", "body > footer", 1]])
    if (document.querySelectorAll(selector).length !== count) say("not one " + what);
  let level = 0;
  for (const node of [...document.querySelectorAll("h1,h2,h3,h4,h5,h6")].filter(shown)) {
    const here = Number(node.tagName[1]);
    if (here > level + 1) say("heading skips a level", node);
    level = here;
  }
  const regions = [...document.querySelectorAll("section[aria-labelledby],[role=region],nav")].filter(shown).map((node) =>
    (node.getAttribute("aria-label") || (document.getElementById(node.getAttribute("aria-labelledby")) || node).textContent).trim());
  regions.filter((name, place) => regions.indexOf(name) !== place).forEach((name) => say("two regions are called " + name));
  const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
  ids.filter((id, place) => ids.indexOf(id) !== place).forEach((id) => say("id twice " + id));
  for (const node of document.querySelectorAll("[aria-labelledby],[aria-describedby]"))
    for (const key of ["aria-labelledby", "aria-describedby"])
      for (const id of (node.getAttribute(key) || "").split(" ").filter(Boolean)) if (!document.getElementById(id)) say("names nothing " + id, node);
  for (const node of document.querySelectorAll("svg"))
    if (node.getAttribute("aria-hidden") !== "true" && !(node.getAttribute("role") === "img" && node.querySelector("title"))) say("picture without words", node);
  for (const node of document.querySelectorAll("table")) {
    if (!node.caption) say("table without caption", node);
    node.querySelectorAll("th").forEach((cell) => { if (!cell.scope) say("head of what", cell); });
  }
  for (const node of document.querySelectorAll("input:not([type=hidden]):not([hidden]),select,textarea"))
    if (!node.labels.length && !node.ariaLabel) say("field without label", node);
  for (const node of document.querySelectorAll("ul > :not(li),ol > :not(li),dl > :not(div):not(dt):not(dd)")) say("foreign in a list", node);
  for (const node of [...document.querySelectorAll("button,.button,select,input:not([type=hidden])")].filter(shown)) {
    const box = node.getBoundingClientRect();
    if (Math.min(box.width, box.height) < 24) say("smaller than 24 pixels", node);
  }
  for (const node of document.querySelectorAll(".scroll"))
    if (node.scrollWidth > node.clientWidth && node.tabIndex !== 0) say("scrolls, but not by keyboard", node);
  // Contrast: of each text that is seen, against what lies behind it.
  const parse = (text) => {
    const srgb = text.match(/color\\(srgb ([\\d.e-]+) ([\\d.e-]+) ([\\d.e-]+)(?: \\/ ([\\d.e-]+))?/);
    if (srgb) return [srgb[1] * 255, srgb[2] * 255, srgb[3] * 255, srgb[4] === undefined ? 1 : Number(srgb[4])];
    const part = text.match(/[\\d.]+/g).map(Number);
    return [part[0], part[1], part[2], part.length > 3 ? part[3] : 1];
  };
  const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const light = (color) => {
    const part = color.slice(0, 3).map((value) => { const x = value / 255; return x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
  };
  const behind = (node) => {
    const layers = [];
    for (let here = node; here; here = here.parentElement) layers.push(parse(getComputedStyle(here).backgroundColor));
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    return layers.reverse().reduce((under, top) => over(top, under), dark ? [18, 18, 18, 1] : [255, 255, 255, 1]);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const told = new Set();
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !shown(node) || node.closest(".away, .skip, desc, title, option, noscript")) continue;
    const style = getComputedStyle(node);
    const svg = node instanceof SVGElement;
    const ground = behind(svg ? node.closest("svg").parentElement : node);
    const ink = over(parse(svg ? style.fill : style.color), ground);
    const [a, b] = [light(ink), light(ground)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const key = ratio.toFixed(2) + node.className;
    if (ratio < (large ? 3 : 4.5) && !told.has(key)) { told.add(key); say("contrast " + ratio.toFixed(2), node); }
  }
  if (document.documentElement.scrollWidth > innerWidth) say("the page scrolls sideways by " + (document.documentElement.scrollWidth - innerWidth));
  return found;
}
"""
_FOCUS = """
() => {
  const node = document.activeElement, style = getComputedStyle(node), box = node.getBoundingClientRect();
  const words = node.tagName + " " + (node.textContent || node.name || "").trim().slice(0, 40);
  return { words, body: node === document.body, seen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 && box.width > 0 && box.bottom > 0 };
}
"""


def problems(page: Page) -> list[str]:
    """What is wrong with a page: structure, names, contrast, size of targets, width."""
    return [*page.evaluate(CHECKS), *nameless(page)]


def nameless(page: Page) -> list[str]:
    """Nodes of the accessibility tree that have a role but nothing to call them by."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    return [
        f"without a name: {node['role']['value']}"
        for node in nodes
        if not node.get("ignored") and node["role"]["value"] in _NAMED and not node.get("name", {}).get("value", "").strip()
    ]


def walk_by_keyboard(page: Page, *, most: int = 200) -> tuple[list[str], list[str]]:
    """Press Tab through the whole page; what was reached, and what was reached without showing it."""
    reached, unseen = [], []
    for _ in range(most):
        page.keyboard.press("Tab")
        here = page.evaluate(_FOCUS)
        if here["body"]:
            return reached, unseen
        reached.append(here["words"])
        if not here["seen"]:
            unseen.append(here["words"])
    raise AssertionError("the focus never leaves the page")

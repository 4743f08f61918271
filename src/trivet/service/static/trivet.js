// What the dashboard does beyond plain pages. Every page works without it.
"use strict";
(() => {
  // A run that is on its way: each event fetches the page's body anew; the last one ends the stream.
  let source = null;
  const follow = () => {
    const run = document.getElementById("run");
    const address = run && run.dataset.live;
    if (!address) {
      if (source) source.close();
      source = null;
      return;
    }
    if (source) return;
    source = new EventSource(address);
    let waiting = false;
    const refresh = () => {
      if (waiting) return;
      waiting = true;
      window.setTimeout(async () => {
        waiting = false;
        const now = document.getElementById("run");
        if (!now || !now.dataset.part) return;
        const open = new Set([...now.querySelectorAll("details[open] > summary")].map((node) => node.textContent));
        await window.htmx.ajax("GET", now.dataset.part, { target: "#run", swap: "outerHTML" });
        document.querySelectorAll("#run details > summary").forEach((node) => { if (open.has(node.textContent)) node.parentElement.open = true; });
        document.title = document.querySelector("#run .verdict").textContent + document.title.slice(document.title.indexOf(" · "));
        follow();
      }, 150);
    };
    const kinds = ["queued", "fetching", "scoring", "joining", "signing", "publishing", "progress", "decided", "done", "failed"];
    kinds.forEach((kind) => source.addEventListener(kind, refresh));
    source.addEventListener("end", () => { source.close(); source = null; refresh(); });
  };
  // A page in the background asks for nothing.
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden && event.detail.elt.id === "queue") event.preventDefault();
  });
  // Focus goes with the list when older rows replace the link that asked for them.
  let last = null;
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target.id === "more") last = event.detail.target.previousElementSibling;
  });
  document.addEventListener("htmx:afterSettle", () => {
    const first = last && last.nextElementSibling && last.nextElementSibling.querySelector("a");
    last = null;
    if (first) first.focus();
  });
  // Code that is there to be copied gets a button that does it.
  const copies = () => {
    if (!navigator.clipboard) return;
    document.querySelectorAll("pre > code:only-child").forEach((code) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy quiet";
      button.textContent = "Copy";
      button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
        window.setTimeout(() => { button.textContent = "Copy"; }, 2000);
      });
      code.parentElement.append(button);
    });
  };
  document.addEventListener("DOMContentLoaded", () => { follow(); copies(); });
  document.addEventListener("htmx:afterSwap", copies);
})();

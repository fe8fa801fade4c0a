// JSON that is written has its colors below the field's own text, which is transparent.
"use strict";
(() => {
  const TOKENS = /("(?:\\.|[^"\\])*"?)(\s*:)?|[\w.+-]+|[^"\w.+-]+/g;
  const paint = (area, below) => {
    const spans = Array.from(area.value.matchAll(TOKENS), ([token, text, colon]) => {
      const span = document.createElement("span");
      if (text) span.className = colon ? "json-name" : "json-text";
      else if (/^[\w.+-]/.test(token)) span.className = "json-value";
      span.textContent = token;
      return span;
    });
    // A last line that is empty has its height, too.
    below.replaceChildren(...spans, "\n");
    below.scrollTop = area.scrollTop;
  };
  for (const area of document.querySelectorAll("textarea[data-json]")) {
    const box = document.createElement("div");
    const below = document.createElement("pre");
    box.className = "json-editor";
    below.setAttribute("aria-hidden", "true");
    area.replaceWith(box);
    box.append(below, area);
    area.addEventListener("input", () => paint(area, below));
    area.addEventListener("scroll", () => { below.scrollTop = area.scrollTop; });
    // Browsers fill a form again when they go back to it.
    window.addEventListener("pageshow", () => paint(area, below));
  }
})();

// The filter: shows the operations that hold every word that is typed, in their path, scope, description or fields.
"use strict";

const filter = document.getElementById("filter");
const found = document.getElementById("found");
const menu = document.querySelector("details.menu");
const entries = [...document.querySelectorAll("nav li[data-for]")].map((entry) => ({
  entry,
  article: document.getElementById(entry.dataset.for),
  words: entry.dataset.words,
}));
for (const one of entries) {
  const told = one.article.querySelectorAll(":scope > p, :scope > dl");
  one.words += [...told].map((part) => part.textContent.toLowerCase()).join(" ");
}
const groups = [...document.querySelectorAll(".group")];
const wide = window.matchMedia("(min-width: 60rem)");

function apply() {
  const typed = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const { entry, words, article } of entries) {
    const hidden = !typed.every((word) => words.includes(word));
    entry.hidden = hidden;
    article.hidden = hidden;
    shown += hidden ? 0 : 1;
  }
  for (const group of groups) {
    group.hidden = !group.querySelector("li[data-for]:not([hidden]), article:not([hidden])");
  }
  found.textContent = typed.length ? `${shown} of ${entries.length} operations` : "";
}

// On a phone the contents would push everything else out of sight.
function fold() {
  menu.open = wide.matches;
}

filter.addEventListener("input", apply);
filter.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    filter.value = "";
    apply();
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) {
    event.preventDefault();
    menu.open = true;
    filter.focus();
  }
});
menu.addEventListener("click", (event) => {
  if (event.target.closest("a") && !wide.matches) {
    menu.open = false;
  }
});
wide.addEventListener("change", fold);
fold();
apply();

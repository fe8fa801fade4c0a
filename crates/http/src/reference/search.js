// The search over all pages, by path, scope, descriptions and fields. Its index is a script that the first use loads:
// the pages' policy allows scripts of their own server, and nothing else.
"use strict";

const search = document.getElementById("search");
const found = document.getElementById("found");
const results = document.getElementById("results");
const contents = document.getElementById("contents");
const menu = document.querySelector("details.menu");
const wide = window.matchMedia("(min-width: 60rem)");
let loading = false;

function load() {
  if (globalThis.referenceIndex || loading) {
    return;
  }
  loading = true;
  const script = document.createElement("script");
  script.src = "/docs/search-index.js";
  script.addEventListener("load", apply);
  script.addEventListener("error", () => {
    loading = false;
    found.textContent = "The search could not be loaded.";
  });
  document.head.append(script);
}

function apply() {
  const typed = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (text) => typed.every((word) => text.includes(word));
  const entries = typed.length ? globalThis.referenceIndex : undefined;
  contents.hidden = Boolean(entries);
  found.textContent = "";
  results.replaceChildren();
  if (!entries) {
    load();
    return;
  }
  const hits = entries.filter((entry) => has(entry.words));
  const isNamed = (entry) => has(`${entry.method} ${entry.name} ${entry.detail}`.toLowerCase());
  hits.sort((one, other) => isNamed(other) - isNamed(one));
  results.append(...hits.map(result));
  found.textContent = hits.length === 1 ? "1 result" : `${hits.length} results`;
}

function result({ address, method, name, detail }) {
  const link = document.createElement("a");
  link.href = address;
  if (method) {
    link.append(part(`method ${method.toLowerCase()}`, method), " ");
  }
  link.append(part("path", name.replace(/^\/v1/, "")), " ", part("detail", detail));
  const item = document.createElement("li");
  item.className = method ? "operation" : "";
  item.append(link);
  return item;
}

function part(kind, text) {
  const part = document.createElement("span");
  part.className = kind;
  part.textContent = text;
  return part;
}

// On a phone the contents would push everything else out of sight.
function fold() {
  menu.open = wide.matches;
}

// Links from when the reference was one page name an operation in the overview's list, which leads to its page.
function follow() {
  const listed = document.getElementById(location.hash.slice(1));
  if (listed?.matches(".operations li")) {
    location.replace(listed.querySelector("a").href);
  }
}

search.closest("[hidden]").hidden = false;
search.addEventListener("focus", load);
search.addEventListener("input", apply);
search.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    search.value = "";
    apply();
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) {
    event.preventDefault();
    menu.open = true;
    search.focus();
  }
});
menu.addEventListener("click", (event) => {
  if (event.target.closest("a") && !wide.matches) {
    menu.open = false;
  }
});
wide.addEventListener("change", fold);
window.addEventListener("hashchange", follow);
fold();
follow();

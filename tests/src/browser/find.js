// Finds what a person means by a label: arguments are the kind of thing, its name, and words near it (or null); or, for the
// kind "focus", what has the focus.
const [kind, wanted, near] = arguments;
const clean = (words) => (words || "").replace(/\s+/g, " ").trim();
const isShown = (element) =>
  element.type === "file" || element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true });

// The page, and every part of it that keeps its elements to itself but lets them be seen.
const roots = [document];
for (const root of roots) {
  for (const element of root.querySelectorAll("*")) if (element.shadowRoot) roots.push(element.shadowRoot);
}

const KINDS = {
  click: "a[href], button, summary, [role=button], [role=tab], [role=menuitem], [role=option], input[type=submit]," +
    " input[type=button], input[type=checkbox], input[type=radio]",
  fill: "input:not([type=hidden], [type=submit], [type=button], [type=checkbox], [type=radio]), textarea," +
    " [contenteditable=true]",
  choose: "select",
};

// The words of a label without those of the controls and hints that stand in it.
const labelWords = (label) => {
  const copy = label.cloneNode(true);
  copy.querySelectorAll("input, select, textarea, button, small, output").forEach((inner) => inner.remove());
  return clean(copy.textContent);
};

const nameOf = (element) => {
  const by = element.getAttribute("aria-labelledby");
  if (by) return clean(by.split(/\s+/).map((id) => element.getRootNode().getElementById(id)?.textContent).join(" "));
  if (element.getAttribute("aria-label")) return clean(element.getAttribute("aria-label"));
  if (element.labels?.length) return clean([...element.labels].map(labelWords).join(" "));
  if (element.tagName === "INPUT") return clean(element.value || element.title);
  return clean(element.textContent) || clean(element.title) || clean(element.querySelector("img")?.alt);
};

if (kind === "focus") {
  let focused = document.activeElement;
  while (focused.shadowRoot?.activeElement) focused = focused.shadowRoot.activeElement;
  const { bottom, right, top, left } = focused.getBoundingClientRect();
  const isInside = bottom > 0 && right > 0 && top < innerHeight && left < innerWidth;
  // The page as a whole has it before anything else does, and the parts of a date show by themselves which one has it.
  const isMarked = getComputedStyle(focused).outlineStyle !== "none" || /^(date|time|month|week)/.test(focused.type);
  const seen = focused === document.body || (isInside && isMarked);
  return { names: [focused === document.body ? "" : nameOf(focused)], seen };
}

const REGIONS = "tr, li, article, section, fieldset, form, dialog, details, nav, aside, header, main";
// How much stands in the smallest region around it that has these words; Infinity if there is none.
const regionSize = (element) => {
  for (let region = element.closest(REGIONS); region; region = region.parentElement?.closest(REGIONS)) {
    const words = clean(region.textContent);
    if (words.includes(near)) return words.length;
  }
  return Infinity;
};

const all = roots
  .flatMap((root) => [...root.querySelectorAll(KINDS[kind])])
  .filter((element) => isShown(element) && !element.disabled && !element.closest("[aria-hidden=true]"));
const named = all.map((element) => [element, nameOf(element)]);
let found = named.filter(([, name]) => name === wanted);
if (!found.length) found = named.filter(([, name]) => name.startsWith(wanted));
if (near) {
  const sized = found.map((one) => [regionSize(one[0]), one]).filter(([size]) => size !== Infinity);
  const least = Math.min(...sized.map(([size]) => size));
  found = sized.filter(([size]) => size === least).map(([, one]) => one);
}
return {
  element: found.length ? found[0][0] : null,
  count: found.length,
  same: found.every(([element]) => element.href && element.href === found[0][0].href),
  names: named.map(([, name]) => name),
};

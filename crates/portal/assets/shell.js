// The frame beyond links and forms: the search as a dialog, filters behind a button, notices that are put away.
(() => {
  const showTab = () => document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  window.addEventListener("resize", showTab);
  showTab();
  const palette = document.getElementById("palette");
  const field = palette?.querySelector("input");
  const open = () => {
    if (palette.open) return;
    palette.showModal();
    field.select();
    find(field);
  };
  // The latest question's hits stay, in whatever order the answers come.
  let asked = 0;
  const find = async (input) => {
    const mine = ++asked;
    const query = new URLSearchParams({ q: input.value });
    const answer = await fetch(`${input.form.action}?${query}`, { headers: { "HX-Request": "true" } }).catch(() => undefined);
    if (answer?.status === 401) window.location.reload();
    const drawn = answer?.ok && await answer.text();
    if (!drawn || mine !== asked) return;
    const hits = input.form.nextElementSibling;
    hits.innerHTML = drawn;
    // Times are local here too.
    hits.dispatchEvent(new CustomEvent("htmx:load", { bubbles: true }));
  };
  let pause;
  document.addEventListener("input", (event) => {
    if (!event.target.matches(".find input")) return;
    clearTimeout(pause);
    pause = setTimeout(find, 120, event.target);
  });
  const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
  if (isMac) for (const key of document.querySelectorAll(".search kbd")) key.textContent = "⌘K";

  document.addEventListener("click", (event) => {
    if (event.target === palette) palette.close();
    const target = event.target.closest("[data-palette], [data-dismiss], .fold");
    if (!target || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if ("palette" in target.dataset && palette) {
      event.preventDefault();
      open();
    } else if ("dismiss" in target.dataset) {
      target.parentElement.remove();
    } else if (target.matches(".fold")) {
      target.setAttribute("aria-expanded", String(target.getAttribute("aria-expanded") === "false"));
    }
  });

  document.addEventListener("keydown", (event) => {
    if (palette && event.key.toLowerCase() === "k" && (isMac ? event.metaKey : event.ctrlKey) && !event.altKey) {
      event.preventDefault();
      open();
      return;
    }
    const finder = event.target.closest?.(".palette, .finder");
    if (!finder || event.isComposing) return;
    const [input, ...hits] = finder.querySelectorAll("input, .found a");
    // Enter in the field opens the first hit, which is marked; without a hit the form is sent.
    if (event.key === "Enter" && event.target === input && hits.length && palette.contains(finder)) {
      event.preventDefault();
      hits[0].click();
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    // The first hit is marked while the field has the focus: down goes on to the second.
    const all = [input, ...hits];
    const at = all.indexOf(event.target);
    const next = at === 0 && step === 1 && palette.contains(finder) ? 2 : at + step;
    (all[next] ?? all.at(step === 1 ? -1 : 0)).focus();
  });

  // A click elsewhere puts the person's menu away.
  document.addEventListener("click", (event) => {
    const menu = document.querySelector("details.person[open]");
    if (menu && !menu.contains(event.target)) menu.open = false;
  });
  document.addEventListener("keydown", (event) => {
    const menu = document.querySelector("details.person[open]");
    if (event.key !== "Escape" || !menu) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });

  for (const filters of document.querySelectorAll("form.filters")) {
    const set = [...new URL(window.location.href).searchParams].filter(([name, value]) => value && filters.elements[name]);
    const button = Object.assign(document.createElement("button"), { type: "button", className: "fold" });
    button.textContent = document.body.dataset.filters + (set.length ? ` (${set.length})` : "");
    button.setAttribute("aria-expanded", "false");
    filters.before(button);
  }
})();

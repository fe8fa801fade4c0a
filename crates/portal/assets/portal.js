// What the pages do beyond links and forms. Without it everything still works.
"use strict";
(() => {
  const lang = document.documentElement.lang || "en";
  const formats = new Map();
  const format = (timeStyle, timeZone) => {
    const key = `${timeStyle} ${timeZone}`;
    if (!formats.has(key)) formats.set(key, new Intl.DateTimeFormat(lang, timeStyle === "clock" ? { timeStyle: "short", timeZone } : { dateStyle: "medium", timeStyle, timeZone }));
    return formats.get(key);
  };

  const dress = (root) => {
    for (const speeds of root.querySelectorAll(".speeds[hidden]")) speeds.hidden = false;
    for (const time of root.querySelectorAll("time[datetime]:not([title])")) {
      const at = new Date(time.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      time.title = format("long", time.dataset.zone).format(at);
      time.textContent = format("clock" in time.dataset ? "clock" : "seconds" in time.dataset ? "medium" : "short", time.dataset.zone).format(at);
    }
  };

  // What cannot be taken back is asked for once more.
  document.addEventListener("submit", (event) => {
    const button = event.submitter;
    const question = button && button.dataset.confirm;
    if (question && !window.confirm(question)) event.preventDefault();
    if (event.defaultPrevented) return;
    // Of two clicks the second would lose the answer to the first, with what it shows this once.
    const form = event.target;
    if (form.method !== "post" || form.hasAttribute("hx-post")) return;
    if ("sent" in form.dataset) event.preventDefault();
    else form.dataset.sent = "";
  });
  const unsend = () => {
    for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
  };
  window.addEventListener("pageshow", unsend);

  document.addEventListener("click", (event) => {
    const target = event.target.closest("[data-menu],[data-copy],[data-seek],[data-speed],[data-waveform]");
    if (!target) return;
    if ("menu" in target.dataset) {
      const open = target.getAttribute("aria-expanded") === "true";
      target.setAttribute("aria-expanded", String(!open));
      document.body.classList.toggle("menu-open", !open);
    } else if ("copy" in target.dataset) {
      const from = document.getElementById(target.dataset.copy);
      if (from) navigator.clipboard.writeText(from.textContent.trim()).then(() => {
        target.dataset.done = "";
      }, () => undefined);
    } else if ("seek" in target.dataset) {
      // Click a turn, hear it.
      const player = document.querySelector("audio");
      if (player) {
        player.currentTime = Number(target.dataset.seek);
        player.play().catch(() => undefined);
      }
    } else if ("speed" in target.dataset) {
      const player = document.querySelector("audio");
      if (player) player.playbackRate = Number(target.dataset.speed);
      for (const button of target.parentElement.children) button.setAttribute("aria-pressed", String(button === target));
    } else if ("waveform" in target.dataset) {
      const player = document.querySelector("audio");
      const drawing = target.querySelector("svg").getBoundingClientRect();
      const place = (event.clientX - drawing.left) / drawing.width;
      if (player && Number.isFinite(player.duration) && place >= 0 && place <= 1) player.currentTime = place * player.duration;
    }
  });

  // A voice is heard on the page; without this the sound opens by itself.
  const player = () => (player.context ??= new AudioContext());
  const play = async (button) => {
    const fields = new FormData(button.form);
    fields.set(button.name, button.value);
    button.disabled = true;
    button.parentElement.querySelector(".fault")?.remove();
    try {
      const answer = await fetch(button.formAction, { method: "POST", body: new URLSearchParams(fields) });
      if (!answer.ok) {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        throw new Error(page.querySelector("main p")?.textContent ?? "");
      }
      const sound = player().createBufferSource();
      sound.buffer = await player().decodeAudioData(await answer.arrayBuffer());
      sound.connect(player().destination);
      sound.start();
    } catch (error) {
      const said = Object.assign(document.createElement("span"), { className: "fault", textContent: ` ${error.message}` });
      said.setAttribute("role", "alert");
      button.after(said);
    }
    button.disabled = false;
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-play]");
    if (!button) return;
    event.preventDefault();
    play(button);
  });

  // The turn that is heard is marked, and the waveform shows where it is. Events of a player do not bubble.
  const follow = (event) => {
    const player = event.target;
    const head = document.querySelector("[data-waveform] .playhead");
    if (head && player.duration > 0) {
      const at = head.ownerSVGElement.viewBox.baseVal.width * player.currentTime / player.duration;
      head.setAttribute("x1", at);
      head.setAttribute("x2", at);
    }
    // A turn begins a little before its rounded time.
    const begun = [...document.querySelectorAll("[data-seek]")].filter((button) => Number(button.dataset.seek) <= player.currentTime + .06);
    const now = begun.length ? begun[begun.length - 1].closest("li") : null;
    const before = document.querySelector("li.playing");
    if (now === before) return;
    before?.classList.remove("playing");
    before?.removeAttribute("aria-current");
    now?.classList.add("playing");
    now?.setAttribute("aria-current", "true");
    if (now && !player.paused) now.scrollIntoView({ block: "nearest" });
  };
  document.addEventListener("timeupdate", follow, true);
  document.addEventListener("seeked", follow, true);

  // A page that nobody sees asks for nothing.
  document.addEventListener("htmx:beforeRequest", (event) => {
    const is = event.target.getAttribute("hx-trigger") || "";
    if (document.hidden && is.startsWith("every")) event.preventDefault();
  });

  // Enter in a search within a form searches, also where what it finds is shown by itself: it never sends the form.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || !event.target.matches("form[data-keep] input[type=search]")) return;
    event.preventDefault();
    event.target.parentElement.querySelector("button[name=add]").click();
  });

  // What was refused is read first.
  const refusal = document.querySelector(".refusal");
  if (refusal) refusal.focus();

  // A form that was changed is not left without a question.
  let changed = false;
  document.addEventListener("input", (event) => {
    if (event.target.closest("form[data-keep]")) changed = true;
  });
  // Other forms of the page, such as the choice of the language, leave it too.
  document.addEventListener("submit", (event) => {
    if (!event.defaultPrevented && event.target.matches("form[data-keep]")) changed = false;
  });
  window.addEventListener("beforeunload", (event) => {
    if (!changed) return;
    event.preventDefault();
    // Whoever stays may send again what would have left.
    window.setTimeout(unsend);
  });

  document.addEventListener("htmx:afterSwap", (event) => dress(event.target));
  // Also what is put elsewhere on the page. Where somebody was writing, they go on.
  document.addEventListener("htmx:load", (event) => {
    dress(event.target);
    if (event.target.matches("[data-focus]")) event.target.querySelector("input:not([type=hidden]), textarea")?.focus();
  });
  // Whether a form holds what was typed since the page was drawn.
  let typed = false;
  document.addEventListener("input", (event) => {
    if (event.target.closest("form[method=post]")) typed = true;
  });
  // As browsers send a form by themselves: the answer is a page.
  const sendAsPage = (form, elt) => {
    for (const [name, value] of Object.entries(JSON.parse(elt.getAttribute("hx-vals") || "{}"))) {
      const field = Object.assign(document.createElement("input"), { type: "hidden", name, value });
      form.append(field);
    }
    changed = false;
    HTMLFormElement.prototype.submit.call(form);
  };
  // That nothing came back, beside what was sent; where a part asks again and again, once, until it is answered.
  const unanswered = (elt) => {
    const near = elt.closest("form[hx-post], .field");
    const before = document.getElementById("unanswered");
    if (before && !near) return;
    before?.remove();
    const text = document.body.dataset.unanswered;
    if (!text) return;
    const said = Object.assign(document.createElement("p"), { id: "unanswered", className: "warning", textContent: text });
    said.setAttribute("role", "alert");
    if (near) near.before(said);
    else document.querySelector("h1").after(said);
  };
  document.addEventListener("htmx:sendError", (event) => unanswered(event.target));
  document.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.successful) document.getElementById("unanswered")?.remove();
  });
  // The session ended before a part was asked for. A form is then sent as browsers send it by themselves: the answer asks
  // to sign in, and keeps it. A part that is asked for again and again gives up, and leaves alone what is being typed.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { status } = event.detail.xhr;
    if (status < 400) return;
    const { elt, verb } = event.detail.requestConfig;
    // What nobody asked for is not answered either.
    if ("quiet" in elt.dataset) {
      event.preventDefault();
      return;
    }
    const form = verb === "post" && elt.closest("form");
    if (status !== 401) {
      // A form that was refused is sent once more for the page that says why; a search in it has no page to show.
      if (!form) return;
      event.preventDefault();
      if (elt === form) sendAsPage(form, elt);
      else unanswered(elt);
      return;
    }
    event.preventDefault();
    if (form) sendAsPage(form, elt);
    else if (typed) {
      elt.replaceWith(elt.cloneNode(true));
      const said = Object.assign(document.createElement("p"), { className: "warning", textContent: document.body.dataset.ended });
      said.setAttribute("role", "alert");
      document.querySelector("h1").after(said);
    } else window.location.reload();
  });
  // A file on its way: how far it is. Without this the browser sends the form by itself.
  const shown = (request) => {
    const page = new DOMParser().parseFromString(request.responseText, "text/html");
    const main = page.querySelector("main");
    if (!main) {
      window.location.reload();
      return;
    }
    document.title = page.title;
    // Who is not signed in any more sees no navigation either.
    if (request.status === 401) document.body.replaceWith(page.body);
    else document.querySelector("main").replaceWith(main);
    document.querySelector(".notice")?.remove();
    const notice = page.querySelector(".notice");
    if (notice) document.body.append(notice);
    const at = new URL(request.responseURL);
    at.searchParams.delete("_token");
    window.history.replaceState(null, "", at);
    dress(main);
    if (window.htmx) window.htmx.process(main);
    (main.querySelector(".refusal") || main).focus();
  };
  document.addEventListener("submit", (event) => {
    const form = event.target;
    const sending = form.querySelector(".sending");
    if (event.defaultPrevented || !("upload" in form.dataset) || !sending) return;
    event.preventDefault();
    const chooser = form.querySelector("input[type=file]");
    if (chooser && chooser.files[0] && chooser.files[0].size > Number(form.dataset.upload)) {
      // Nothing was sent: with another file it may be.
      delete form.dataset.sent;
      chooser.setCustomValidity(form.dataset.tooLarge);
      chooser.reportValidity();
      chooser.addEventListener("change", () => chooser.setCustomValidity(""), { once: true });
      return;
    }
    const buttons = form.querySelectorAll("button");
    const rest = (is) => {
      sending.hidden = !is;
      for (const button of buttons) button.disabled = is;
    };
    const request = new XMLHttpRequest();
    request.open("POST", form.action);
    request.upload.addEventListener("progress", (step) => {
      if (step.lengthComputable) sending.querySelector("progress").value = step.loaded / step.total;
    });
    request.addEventListener("load", () => shown(request));
    // It did not arrive: the browser says so itself.
    request.addEventListener("error", () => { rest(false); form.submit(); });
    request.send(new FormData(form));
    rest(true);
  });
  dress(document);
})();

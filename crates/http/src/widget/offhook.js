/*
 * Offhook's widget: an agent on any page, in writing and, where it speaks, aloud.
 *
 *   <script src="https://HOST/widget/v1/offhook.js" data-agent="UUID" async></script>
 *
 * It asks nobody but the host that it came from, sets no cookie, and puts every word into the page as text. Its styles are
 * a constructed sheet in a shadow root, so that a page needs neither 'unsafe-inline' nor 'unsafe-eval'. What the data
 * attributes mean, and what a page's Content-Security-Policy has to allow, is in docs/guides/widget.md.
 */
(() => {
  "use strict";

  const tag = document.currentScript;
  // A page that names the script twice has one widget.
  const once = Symbol.for("offhook.widget");
  if (!tag || !tag.dataset.agent || window[once]) return;
  window[once] = true;

  const agent = tag.dataset.agent;
  const origin = new URL(tag.src).origin;
  const base = `${origin}/widget/v1`;
  const given = tag.dataset;

  /* ---- Words, in both languages wherever they are used ---- */

  const language = (given.language || document.documentElement.lang || navigator.language || "en").toLowerCase();
  const isSpanish = language.startsWith("es");
  const t = (english, spanish) => (isSpanish ? spanish : english);

  /** What a visitor is told when a request was refused; `seconds` is how long to wait, where waiting helps. */
  function inWords(status, seconds) {
    switch (status) {
      case 401:
        return t("This conversation has timed out.", "Esta conversación ya caducó.");
      case 402:
      case 403:
      case 404:
        return t("This assistant is not available right now.", "Este asistente no está disponible por ahora.");
      case 409:
        return t("The assistant is busy. Please try again in a moment.", "El asistente está ocupado. Intenta de nuevo en un momento.");
      case 429:
        return seconds > 90
          ? t("The assistant is taking a break. Please come back later.", "El asistente está en pausa. Vuelve más tarde, por favor.")
          : t(`Too many messages at once. Please try again in ${seconds} s.`, `Demasiados mensajes a la vez. Intenta de nuevo en ${seconds} s.`);
      case 0:
        return t("No connection. Please check your network.", "Sin conexión. Revisa tu red, por favor.");
      default:
        return t("The assistant could not answer. Please try again.", "El asistente no pudo responder. Intenta de nuevo.");
    }
  }

  /* ---- Requests ---- */

  /** A request that was refused, or never arrived (`status` 0). */
  class Refused extends Error {
    constructor(status, seconds = 0) {
      super(inWords(status, seconds));
      this.status = status;
      this.seconds = seconds;
    }

    /** Whether the same request may be tried again without asking the visitor. */
    get passes() {
      return this.status === 0 || this.status === 503 || (this.status === 409 && this.seconds > 0);
    }
  }

  async function ask(path, { method = "GET", token, body, accept = "application/json" } = {}) {
    const headers = { Accept: accept };
    if (token) headers.Authorization = `Bearer ${token}`;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    let answer;
    try {
      answer = await fetch(base + path, {
        method,
        headers,
        body: body === undefined ? undefined : JSON.stringify(body),
        credentials: "omit",
        referrerPolicy: "no-referrer",
        cache: "no-store",
      });
    } catch {
      throw new Refused(0);
    }
    if (!answer.ok) throw new Refused(answer.status, Number(answer.headers.get("Retry-After")) || 0);
    return answer;
  }

  /** The events of a stream, one by one: `{name, data}`. */
  async function* events(answer) {
    const reader = answer.body.getReader();
    const decoder = new TextDecoder();
    let text = "";
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        text += decoder.decode(value, { stream: true });
        for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
          const block = text.slice(0, end);
          text = text.slice(end + 2);
          let name = "";
          let data = "";
          for (const line of block.split("\n")) {
            if (line.startsWith("event: ")) name = line.slice(7);
            if (line.startsWith("data: ")) data += line.slice(6);
          }
          if (name) yield { name, data: JSON.parse(data) };
        }
      }
    } catch {
      throw new Refused(0);
    } finally {
      reader.cancel().catch(() => {});
    }
  }

  const pause = (ms) => new Promise((done) => setTimeout(done, ms));

  /** An id that nobody guesses. `crypto.randomUUID` is there on secure pages alone. */
  function newId() {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  /* ---- What is kept for as long as the tab is open ---- */

  const kept = {
    key: `offhook:${agent}`,
    read() {
      try {
        return JSON.parse(sessionStorage.getItem(this.key)) || null;
      } catch {
        return null;
      }
    },
    write(value) {
      try {
        if (value) sessionStorage.setItem(this.key, JSON.stringify(value));
        else sessionStorage.removeItem(this.key);
      } catch {
        // A page without storage forgets its conversation when it is loaded again.
      }
    },
  };

  /** What the page says of its visitor, for the agent's variables. */
  function metadata() {
    try {
      const value = JSON.parse(given.metadata || "{}");
      return value && typeof value === "object" && !Array.isArray(value) ? value : {};
    } catch {
      console.warn("Offhook: data-metadata is not JSON and is left out.");
      return {};
    }
  }

  /* ---- Elements ---- */

  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key === "class") made.className = value;
      else if (key === "text") made.textContent = value;
      else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (value === true) made.setAttribute(key, "");
      else if (value !== false && value != null) made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  }

  const ICONS = {
    chat: "M4 4h16a2 2 0 0 1 2 2v9a2 2 0 0 1-2 2h-8l-5 4v-4H4a2 2 0 0 1-2-2V6a2 2 0 0 1 2-2z",
    close: "M6 6l12 12M18 6L6 18",
    send: "M4 12l16-8-5 16-3-6-8-2z",
    microphone: "M12 3a3 3 0 0 1 3 3v5a3 3 0 0 1-6 0V6a3 3 0 0 1 3-3zM6 11a6 6 0 0 0 12 0M12 17v4",
    muted: "M12 3a3 3 0 0 1 3 3v5a3 3 0 0 1-6 0V6a3 3 0 0 1 3-3zM6 11a6 6 0 0 0 12 0M12 17v4M4 4l16 16",
    end: "M5 5h14v14H5z",
  };

  function icon(name) {
    const space = "http://www.w3.org/2000/svg";
    const drawing = document.createElementNS(space, "svg");
    drawing.setAttribute("viewBox", "0 0 24 24");
    drawing.setAttribute("aria-hidden", "true");
    const path = document.createElementNS(space, "path");
    path.setAttribute("d", ICONS[name]);
    drawing.append(path);
    return drawing;
  }

  const iconButton = (name, label, onclick, more = {}) =>
    element("button", { type: "button", class: "icon", "aria-label": label, title: label, onclick, ...more }, icon(name));

  const STYLES = `
    :host {
      all: initial;
      color-scheme: light;
      --accent: var(--offhook-accent, #1f5fd0);
      --on-accent: var(--offhook-on-accent, #fff);
      --ground: var(--offhook-ground, #fff);
      --text: var(--offhook-text, #1b1f24);
      --quiet: var(--offhook-quiet, #57606a);
      --line: var(--offhook-line, #d0d7de);
      --bubble: var(--offhook-bubble, #eef1f4);
      --fault: var(--offhook-fault, #a4161a);
      --radius: var(--offhook-radius, 14px);
      --font: var(--offhook-font, system-ui, -apple-system, "Segoe UI", Roboto, sans-serif);
      --gap: var(--offhook-gap, 20px);
    }
    :host([data-theme="dark"]) {
      color-scheme: dark;
      --ground: var(--offhook-ground, #16191d);
      --text: var(--offhook-text, #f0f3f6);
      --quiet: var(--offhook-quiet, #a7b0ba);
      --line: var(--offhook-line, #3a424c);
      --bubble: var(--offhook-bubble, #262c33);
      --fault: var(--offhook-fault, #ff9a95);
    }
    * { box-sizing: border-box; }
    [hidden] { display: none !important; }
    .root { font: 15px/1.45 var(--font); color: var(--text); }
    button, textarea { font: inherit; color: inherit; }
    button { cursor: pointer; }
    button:disabled { cursor: default; opacity: .5; }
    :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
    svg { width: 22px; height: 22px; fill: none; stroke: currentColor; stroke-width: 2;
      stroke-linecap: round; stroke-linejoin: round; display: block; }
    .launcher { position: fixed; bottom: var(--gap); right: var(--gap); z-index: 2147483000; display: flex; align-items: center;
      gap: 8px; min-width: 56px; min-height: 56px; padding: 0 17px; border: 1px solid transparent; border-radius: 28px;
      background: var(--accent); color: var(--on-accent); box-shadow: 0 4px 16px rgba(0, 0, 0, .28); transition: transform .15s; }
    .launcher:hover { transform: translateY(-2px); }
    .launcher:focus-visible { outline-color: var(--text); }
    .panel { position: fixed; bottom: calc(var(--gap) + 68px); right: var(--gap); z-index: 2147483001; display: flex;
      flex-direction: column; width: min(384px, calc(100vw - 2 * var(--gap))); height: min(600px, calc(100vh - 2 * var(--gap) - 68px));
      background: var(--ground); border: 1px solid var(--line); border-radius: var(--radius); overflow: hidden;
      box-shadow: 0 10px 40px rgba(0, 0, 0, .3); animation: rise .18s ease-out; }
    .left .launcher, .left .panel { right: auto; left: var(--gap); }
    header { display: flex; align-items: center; gap: 4px; padding: 10px 10px 10px 16px; background: var(--accent);
      color: var(--on-accent); }
    header :focus-visible { outline-color: currentColor; outline-offset: -3px; }
    h2 { flex: 1; margin: 0; font-size: 16px; font-weight: 600; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
    .icon { display: grid; place-items: center; min-width: 40px; min-height: 40px; padding: 0; border: 0; border-radius: 10px;
      background: none; }
    .icon:hover:not(:disabled) { background: rgba(127, 127, 127, .22); }
    .log { flex: 1; overflow-y: auto; overscroll-behavior: contain; padding: 16px; display: flex; flex-direction: column; gap: 10px; }
    .log:focus-visible { outline-offset: -3px; }
    .said { max-width: 86%; padding: 9px 13px; border-radius: var(--radius); white-space: pre-wrap; overflow-wrap: anywhere; }
    .said.agent { align-self: flex-start; background: var(--bubble); border-bottom-left-radius: 4px; }
    .said.user { align-self: flex-end; background: var(--accent); color: var(--on-accent); border-bottom-right-radius: 4px; }
    .said.cut::after { content: " …"; }
    .said.writing:empty::after { content: "…"; animation: blink 1s infinite alternate; }
    .note { align-self: center; margin: 0; color: var(--quiet); font-size: 13px; text-align: center; }
    .whose { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
    .status { margin: 0; padding: 0 16px 8px; font-size: 13px; color: var(--quiet); min-height: 0; }
    .status:empty { display: none; }
    .status.fault { color: var(--fault); }
    .again { align-self: center; padding: 8px 16px; border: 1px solid var(--line); border-radius: 10px; background: var(--ground); }
    form { display: flex; align-items: flex-end; gap: 6px; padding: 10px; border-top: 1px solid var(--line); }
    ::placeholder { color: var(--quiet); opacity: 1; }
    textarea { flex: 1; min-height: 42px; max-height: 120px; padding: 9px 12px; border: 1px solid var(--quiet); border-radius: 10px;
      background: var(--ground); resize: none; field-sizing: content; }
    .send { background: var(--accent); color: var(--on-accent); }
    .send:hover:not(:disabled) { background: var(--accent); filter: brightness(1.1); }
    .call { display: flex; align-items: center; gap: 8px; padding: 10px 10px 10px 16px; border-top: 1px solid var(--line); }
    .call p { flex: 1; margin: 0; }
    .meter { width: 54px; height: 8px; border-radius: 4px; background: var(--bubble); overflow: hidden; }
    .meter span { display: block; width: 100%; height: 100%; background: var(--accent); transform-origin: left; transform: scaleX(0); }
    .hangup { background: #b3261e; color: #fff; }
    .hangup:hover:not(:disabled) { background: #8c1d17; }
    @keyframes rise { from { opacity: 0; transform: translateY(12px); } }
    @keyframes blink { from { opacity: .25; } }
    @media (max-width: 480px) {
      .panel, .left .panel { inset: 0; width: 100%; height: 100vh; height: 100dvh; border: 0; border-radius: 0; }
      .open .launcher { display: none; }
    }
    @media (prefers-reduced-motion: reduce) { *, *::after { animation: none !important; transition: none !important; } }
    @media (forced-colors: active) { .said, .launcher, .icon { border: 1px solid; } svg { stroke: ButtonText; } }
  `;

  /** Black or white, whichever is read better on a colour of the form #rgb or #rrggbb. */
  function readableOn(colour) {
    const hex = colour.length === 4 ? colour.replace(/[0-9a-f]/gi, "$&$&") : colour;
    const [r, g, b] = [1, 3, 5].map((at) => {
      const part = parseInt(hex.slice(at, at + 2), 16) / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    const luminance = 0.2126 * r + 0.7152 * g + 0.0722 * b;
    return 1.05 / (luminance + 0.05) >= (luminance + 0.05) / 0.0586 ? "#fff" : "#111";
  }

  const host = document.createElement("offhook-widget");
  const root = host.attachShadow({ mode: given.shadow === "open" ? "open" : "closed" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLES);
  root.adoptedStyleSheets = [sheet];
  if (/^#([0-9a-f]{3}|[0-9a-f]{6})$/i.test(given.color || "")) {
    host.style.setProperty("--offhook-accent", given.color);
    host.style.setProperty("--offhook-on-accent", readableOn(given.color));
  }

  const darkness = matchMedia("(prefers-color-scheme: dark)");
  function dress() {
    const asked = given.theme === "light" || given.theme === "dark" ? given.theme : "";
    host.dataset.theme = asked || (darkness.matches ? "dark" : "light");
  }
  darkness.addEventListener("change", dress);
  dress();

  /* ---- The panel ---- */

  const log = element("div", { class: "log", role: "log", "aria-live": "polite", tabindex: "0", "aria-label": t("Conversation", "Conversación") });
  const status = element("p", { class: "status", role: "status" });
  const again = element("button", { type: "button", class: "again", hidden: true });
  const input = element("textarea", {
    id: "message",
    dir: "auto",
    rows: "1",
    "aria-label": t("Your message", "Tu mensaje"),
    placeholder: t("Write a message…", "Escribe un mensaje…"),
  });
  const sendButton = element("button", { type: "submit", class: "icon send", "aria-label": t("Send", "Enviar"), title: t("Send", "Enviar") }, icon("send"));
  const form = element("form", {}, input, sendButton);
  const title = element("h2", { id: "title", dir: "auto", text: given.title || "" });
  const voiceButton = iconButton("microphone", t("Talk by voice", "Hablar por voz"), () => talk(), { hidden: true });
  const endButton = iconButton("end", t("End conversation", "Terminar conversación"), () => end(), { hidden: true });
  const closeButton = iconButton("close", t("Close", "Cerrar"), () => close(true));
  const callState = element("p", { role: "status" });
  const level = element("span");
  const meter = element("div", { class: "meter", "aria-hidden": "true" }, level);
  const muteButton = iconButton("microphone", t("Mute", "Silenciar"), () => call && call.mute(), { "aria-pressed": "false" });
  const hangUpButton = iconButton("close", t("End call", "Colgar"), () => call && call.end());
  hangUpButton.classList.add("hangup");
  const callBar = element("div", { class: "call", hidden: true }, callState, meter, muteButton, hangUpButton);
  const panel = element(
    "section",
    { class: "panel", id: "panel", role: "dialog", "aria-labelledby": "title", hidden: true },
    element("header", {}, title, voiceButton, endButton, closeButton),
    log,
    again,
    status,
    callBar,
    form,
  );
  const launcher = element(
    "button",
    { type: "button", class: "launcher", "aria-controls": "panel", "aria-expanded": "false", onclick: () => (panel.hidden ? open() : close(true)) },
    icon("chat"),
  );
  if (given.label) launcher.append(element("span", { dir: "auto", text: given.label }));
  else launcher.setAttribute("aria-label", t("Open chat", "Abrir chat"));
  const frame = element("div", { class: given.position === "left" ? "root left" : "root" }, panel, launcher);
  frame.lang = isSpanish ? "es-MX" : "en";
  // As the widget's own words are read, whatever the page is; what others wrote says for itself how it is.
  frame.dir = "ltr";
  root.append(frame);

  function say(text, isFault = false) {
    status.textContent = text;
    status.classList.toggle("fault", isFault);
  }

  function scroll() {
    log.scrollTop = log.scrollHeight;
  }

  /**
   * A line of the conversation; its words are what is behind the name that screen readers hear first. The line is laid out as
   * its words are read: the name has a direction of its own and is left out of that.
   */
  function bubble(role, text, isCut = false) {
    const words = element("span", { text });
    const whose = role === "user" ? t("You: ", "Tú: ") : `${title.textContent}: `;
    const line = element("div", { class: `said ${role}`, dir: "auto" }, element("span", { class: "whose", dir: "auto", text: whose }), words);
    line.classList.toggle("cut", isCut);
    log.append(line);
    scroll();
    return { line, words };
  }

  function note(text) {
    log.append(element("p", { class: "note", text }));
    scroll();
  }

  /** Offers one thing to do, or nothing. */
  function offer(label, deed) {
    again.hidden = !label;
    again.textContent = label || "";
    again.onclick = deed
      ? () => {
          offer();
          deed();
        }
      : null;
  }

  const offerNew = () => offer(t("Start a new conversation", "Empezar una conversación nueva"), () => begin());

  /* ---- Chat ---- */

  /** `{id, token, pending: {text, message_id}}`, while there is a conversation that takes messages. */
  let session = null;
  let isBusy = false;

  function refresh() {
    launcher.classList.toggle("talking", Boolean(call));
    launcher.firstChild.replaceWith(icon(call ? "microphone" : "chat"));
    sendButton.disabled = isBusy || !session;
    endButton.hidden = !session || Boolean(call);
    voiceButton.disabled = Boolean(call) || isBusy;
    form.hidden = Boolean(call);
    callBar.hidden = !call;
  }

  function keep(changed) {
    session = changed;
    kept.write(changed);
    refresh();
  }

  /** The conversation takes no more messages. */
  function over(text) {
    keep(null);
    note(text);
    offerNew();
  }

  function failed(error, retry) {
    const refused = error instanceof Refused ? error : new Refused(500);
    if (refused.status === 401) {
      over(refused.message);
      return;
    }
    say(refused.message, true);
    if (![402, 403, 404].includes(refused.status)) offer(t("Try again", "Intentar de nuevo"), retry);
  }

  /** Does something till it succeeds or will not; what a broken connection keeps from it is tried again. */
  async function patiently(deed) {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await deed();
      } catch (error) {
        if (!(error instanceof Refused) || !error.passes || attempt >= 5) throw error;
        if (error.status !== 409) say(t("Connecting again…", "Reconectando…"));
        await pause(Math.max(error.seconds * 1000, 500 * 2 ** attempt));
      }
    }
  }

  async function begin() {
    if (isBusy) return;
    isBusy = true;
    log.replaceChildren();
    offer();
    say("");
    refresh();
    try {
      const answer = await ask("/sessions", { method: "POST", body: { agent_id: agent, metadata: metadata() } });
      const begun = await answer.json();
      keep({ id: begun.id, token: begun.token, pending: null });
      if (begun.first_message) bubble("agent", begun.first_message);
    } catch (error) {
      failed(error, begin);
    } finally {
      isBusy = false;
      refresh();
    }
  }

  /** Shows the conversation that this tab had when its page was loaded before. */
  async function resume(saved) {
    isBusy = true;
    refresh();
    try {
      const answer = await patiently(() => ask(`/sessions/${saved.id}`, { token: saved.token }));
      const { status: state, transcript } = await answer.json();
      const { pending } = saved;
      log.replaceChildren();
      say("");
      // What came of a message that was under way is told once more, so that it is not shown twice.
      const last = transcript.map((turn) => turn.role).lastIndexOf("user");
      const isPending = pending && state === "open" && last >= 0 && transcript[last].text === pending.text;
      const asked = isPending ? last : -1;
      const shown = asked < 0 ? transcript : transcript.slice(0, asked);
      for (const turn of shown) bubble(turn.role, turn.text, turn.interrupted);
      if (state === "ended") {
        over(t("This conversation has ended.", "Esta conversación terminó."));
        return;
      }
      keep(saved);
      if (pending) {
        bubble("user", pending.text);
        isBusy = false;
        await deliver();
      }
    } catch (error) {
      if (error instanceof Refused && [401, 403, 404].includes(error.status)) {
        kept.write(null);
        isBusy = false;
        await begin();
        return;
      }
      failed(error, () => resume(saved));
    } finally {
      isBusy = false;
      refresh();
    }
  }

  async function send() {
    const text = input.value.trim();
    if (!text || isBusy || !session) return;
    if (new TextEncoder().encode(text).length > 4096) {
      say(t("This message is too long. Please shorten it.", "Este mensaje es demasiado largo. Acórtalo, por favor."), true);
      return;
    }
    // What could not be sent before goes first.
    if (session.pending) {
      await deliver();
      if (!session || session.pending) return;
    }
    input.value = "";
    bubble("user", text);
    keep({ ...session, pending: { text, message_id: newId() } });
    await deliver();
  }

  /** Has the pending message answered. Asked again under the same id, the service answers it once. */
  async function deliver() {
    if (isBusy || !session || !session.pending) return;
    isBusy = true;
    offer();
    say("");
    refresh();
    const mine = session;
    const reply = bubble("agent", "");
    reply.words.classList.add("writing");
    log.setAttribute("aria-busy", "true");
    try {
      const done = await patiently(() => stream(mine, reply));
      // The visitor ended it meanwhile.
      if (!session || session.id !== mine.id) return;
      reply.words.textContent = done.text;
      reply.line.classList.toggle("cut", done.interrupted);
      if (!done.text) reply.line.remove();
      say("");
      keep({ ...session, pending: null });
      if (done.status === "ended") over(t("The assistant ended the conversation.", "El asistente terminó la conversación."));
    } catch (error) {
      reply.line.remove();
      if (!session || session.id !== mine.id) return;
      if (error instanceof Refused && error.status === 409 && !error.seconds) {
        over(t("This conversation has ended.", "Esta conversación terminó."));
      } else {
        failed(error, deliver);
      }
    } finally {
      reply.words.classList.remove("writing");
      log.removeAttribute("aria-busy");
      isBusy = false;
      refresh();
      if (!session) offerNew();
    }
  }

  /** One attempt: what `message.completed` said. */
  async function stream({ id, token, pending }, reply) {
    const answer = await ask(`/sessions/${id}/messages`, { method: "POST", token, body: pending, accept: "text/event-stream" });
    reply.words.textContent = "";
    for await (const { name, data } of events(answer)) {
      if (name === "message.delta") {
        say("");
        reply.words.append(data.text);
        scroll();
      } else if (name === "tool.started") {
        say(t("One moment…", "Un momento…"));
      } else if (name === "tool.finished") {
        say("");
      } else if (name === "message.completed") {
        return data;
      } else if (name === "error") {
        throw new Refused(data.error === "conflict" ? 409 : data.error === "payment_required" ? 402 : 502);
      }
    }
    throw new Refused(0);
  }

  async function end() {
    if (!session) return;
    const { id, token } = session;
    over(t("You ended the conversation.", "Terminaste la conversación."));
    try {
      await patiently(() => ask(`/sessions/${id}/end`, { method: "POST", token, body: {} }));
      say("");
    } catch {
      // It ends by itself half an hour after its last message.
      say("");
    }
  }

  /* ---- Voice ---- */

  let call = null;

  function talk() {
    if (call) return;
    offer();
    say("");
    call = new Call();
    refresh();
    hangUpButton.focus();
    call.begin();
  }

  /** A spoken conversation: a microphone, a socket, a loudspeaker. */
  class Call {
    constructor() {
      this.muted = false;
      this.isOver = false;
      this.show(t("Connecting…", "Conectando…"));
      this.toldLevel(0);
      this.showMute();
    }

    show(text) {
      callState.textContent = text;
    }

    toldLevel(loudness) {
      level.style.setProperty("transform", `scaleX(${Math.min(1, loudness * 6).toFixed(2)})`);
    }

    showMute() {
      const label = this.muted ? t("Unmute", "Activar micrófono") : t("Mute", "Silenciar");
      muteButton.replaceChildren(icon(this.muted ? "muted" : "microphone"));
      muteButton.setAttribute("aria-pressed", String(this.muted));
      muteButton.setAttribute("aria-label", label);
      muteButton.title = label;
    }

    mute() {
      this.muted = !this.muted;
      if (this.microphone) this.microphone.port.postMessage({ muted: this.muted });
      this.showMute();
    }

    async begin() {
      try {
        // Made before anything is waited for: browsers let a click alone begin sound.
        this.audio = new AudioContext();
        const asked = { audio: { echoCancellation: true, noiseSuppression: true, autoGainControl: true, channelCount: 1 } };
        this.stream = await navigator.mediaDevices.getUserMedia(asked);
        if (this.isOver) return this.close();
        await this.audio.audioWorklet.addModule(`${base}/offhook-audio.js`);
        await this.audio.resume();
        if (this.isOver) return this.close();
        this.connect();
      } catch (error) {
        const isDenied = error && (error.name === "NotAllowedError" || error.name === "NotFoundError");
        this.finish(
          isDenied
            ? t("The microphone cannot be used. Please allow it in your browser.", "No se puede usar el micrófono. Permítelo en tu navegador, por favor.")
            : t("Voice does not work in this browser.", "La voz no funciona en este navegador."),
          true,
        );
      }
    }

    connect() {
      this.speaker = new AudioWorkletNode(this.audio, "offhook-speaker", { numberOfInputs: 0, outputChannelCount: [1] });
      this.speaker.connect(this.audio.destination);
      this.microphone = new AudioWorkletNode(this.audio, "offhook-microphone", { numberOfOutputs: 0 });
      this.audio.createMediaStreamSource(this.stream).connect(this.microphone);
      this.microphone.port.postMessage({ muted: this.muted });
      this.microphone.port.onmessage = ({ data }) => {
        if (data.level !== undefined) this.toldLevel(data.level);
        // What a broken network keeps waiting is old by the time it leaves.
        if (data.sound && this.isTalking && this.socket.bufferedAmount < 65536) this.socket.send(data.sound);
      };
      this.speaker.port.onmessage = ({ data }) => {
        if (this.isTalking && data.playing !== undefined) {
          this.show(data.playing ? t("Speaking…", "Hablando…") : t("Listening…", "Escuchando…"));
        }
        if (data.playing === false && this.afterSound) this.afterSound();
      };
      const socket = new WebSocket(`${origin.replace(/^http/, "ws")}/widget/v1/agents/${agent}/voice`, ["offhook.voice.v1"]);
      socket.binaryType = "arraybuffer";
      socket.onopen = () => socket.send(JSON.stringify({ type: "start", metadata: metadata() }));
      socket.onmessage = ({ data }) => {
        if (typeof data === "string") this.told(JSON.parse(data));
        else this.speaker.port.postMessage({ sound: data }, [data]);
      };
      socket.onclose = () => this.finish(inWords(0), true);
      this.socket = socket;
    }

    get isTalking() {
      return this.hasStarted && this.socket.readyState === WebSocket.OPEN;
    }

    told(message) {
      if (message.type === "started") {
        this.hasStarted = true;
        this.show(t("Listening…", "Escuchando…"));
        note(t("Voice call", "Llamada de voz"));
      } else if (message.type === "clear") {
        this.speaker.port.postMessage({ clear: true });
      } else if (message.type === "turn") {
        bubble(message.role === "user" ? "user" : "agent", message.text, message.interrupted);
      } else if (message.type === "error") {
        const statuses = { rate_limit_exceeded: 429, payment_required: 402, conflict: 409, service_unavailable: 503, internal_error: 500 };
        this.finish(inWords(statuses[message.error] || 403, message.retry_after || 0), true);
      } else if (message.type === "ended") {
        const failed = message.status === "failed";
        const text = failed ? inWords(500) : t("The call has ended.", "La llamada terminó.");
        // What was said last is still on its way to the loudspeaker; that the service closes behind it is no fault.
        this.socket.onclose = null;
        this.afterSound = () => this.finish(text, failed);
        this.speaker.port.postMessage({ drain: true });
        setTimeout(this.afterSound, 3000);
      }
    }

    end() {
      if (this.socket && this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify({ type: "end" }));
      this.finish(t("You ended the call.", "Colgaste la llamada."));
    }

    finish(text, isFault = false) {
      if (this.isOver) return;
      this.isOver = true;
      this.close();
      call = null;
      // Whoever has gone on to something else on the page is left there.
      const isHere = hasFocus();
      refresh();
      if (isFault) say(text, true);
      else note(text);
      if (!session) offerNew();
      if (isHere) (session ? input : again).focus();
    }

    close() {
      if (this.socket) {
        this.socket.onclose = null;
        this.socket.close(1000);
      }
      for (const track of this.stream ? this.stream.getTracks() : []) track.stop();
      if (this.audio && this.audio.state !== "closed") this.audio.close();
    }
  }

  /* ---- Opening and closing ---- */

  let wasOpened = false;

  /** Whether the visitor is at something in the panel. */
  const hasFocus = () => !panel.hidden && panel.contains(root.activeElement);

  /** Opens the panel; the focus comes along when the visitor asked for it, and stays where it is when the page did. */
  function open(isAsked = true) {
    panel.hidden = false;
    frame.classList.add("open");
    launcher.setAttribute("aria-expanded", "true");
    if (!given.label) launcher.setAttribute("aria-label", t("Close chat", "Cerrar chat"));
    if (isAsked) (call ? hangUpButton : session || again.hidden ? input : again).focus();
    if (wasOpened) return;
    wasOpened = true;
    const saved = kept.read();
    if (saved && saved.id && saved.token) resume(saved);
    else begin();
  }

  /** Closes it; the focus goes back to the button when it was inside, or the visitor asked. */
  function close(isAsked = hasFocus()) {
    panel.hidden = true;
    frame.classList.remove("open");
    launcher.setAttribute("aria-expanded", "false");
    if (!given.label) launcher.setAttribute("aria-label", t("Open chat", "Abrir chat"));
    if (isAsked) launcher.focus();
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      send();
    }
  });
  panel.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !event.isComposing) {
      event.stopPropagation();
      close(true);
    }
  });
  addEventListener("pagehide", () => call && call.end());

  /** The button appears where the agent's widget is on for this page, and nowhere else. */
  async function appear() {
    try {
      const door = await (await patiently(() => ask(`/agents/${agent}`))).json();
      say("");
      if (!title.textContent) title.textContent = door.name;
      const canTalk = window.AudioWorkletNode && navigator.mediaDevices && navigator.mediaDevices.getUserMedia;
      voiceButton.hidden = !(door.voice && canTalk && given.voice !== "false");
    } catch (error) {
      console.warn(`Offhook: the widget of agent ${agent} does not serve this page (${error.status || error.message}).`);
      return;
    }
    refresh();
    document.body.append(host);
    window.offhook = Object.freeze({ open: () => open(), close: () => close() });
    if (given.open === "true") open(false);
  }

  if (document.body) appear();
  else document.addEventListener("DOMContentLoaded", appear);
})();

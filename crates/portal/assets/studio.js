// Talking with a draft beside its editor: a microphone, a socket, a loudspeaker.
"use strict";
(() => {
  const panel = () => document.getElementById("trial");
  const offer = (root) => {
    const able = window.AudioWorkletNode && navigator.mediaDevices && window.isSecureContext;
    for (const button of root.querySelectorAll("[data-talk-button]")) button.hidden = !able;
  };
  let talk = null;

  const add = (tag, parent, text, className) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (className) element.className = className;
    parent.append(element);
    return element;
  };

  /** One spoken conversation with the draft. */
  class Talk {
    constructor(button) {
      this.button = button;
      this.panel = panel();
      this.label = button.textContent;
      this.state = this.panel.querySelector(".trial-state");
      this.level = this.panel.querySelector(".trial-level");
      this.turns = this.panel.querySelector("#trial-turns");
      this.latency = null;
      this.turns.replaceChildren();
      this.panel.querySelector("input[name='trial.turns']").value = "";
      this.say(this.panel.dataset.waits);
      button.textContent = button.dataset.hangUp;
      this.begin();
    }

    say(text) {
      this.state.hidden = false;
      this.state.textContent = text;
    }

    async begin() {
      try {
        this.audio = new AudioContext();
        const audio = { echoCancellation: true, noiseSuppression: true, autoGainControl: true, channelCount: 1 };
        this.stream = await navigator.mediaDevices.getUserMedia({ audio });
        await this.audio.audioWorklet.addModule("/widget/v1/offhook-audio.js");
        await this.audio.resume();
      } catch {
        this.finish(this.panel.dataset.microphone);
        return;
      }
      if (this.over) {
        this.release();
        return;
      }
      this.speaker = new AudioWorkletNode(this.audio, "offhook-speaker", { numberOfInputs: 0, outputChannelCount: [1] });
      this.speaker.connect(this.audio.destination);
      const microphone = new AudioWorkletNode(this.audio, "offhook-microphone", { numberOfOutputs: 0 });
      this.audio.createMediaStreamSource(this.stream).connect(microphone);
      microphone.port.onmessage = ({ data }) => {
        if (data.level !== undefined) this.level.value = data.level;
        const isOpen = this.socket && this.socket.readyState === WebSocket.OPEN;
        if (data.sound && isOpen && this.started && this.socket.bufferedAmount < 65536) this.socket.send(data.sound);
      };
      const { origin } = window.location;
      this.socket = new WebSocket(origin.replace(/^http/, "ws") + this.panel.dataset.talk, ["offhook.voice.v1"]);
      this.socket.binaryType = "arraybuffer";
      this.socket.onopen = () => {
        const form = new FormData(document.querySelector("form[data-keep]") || this.panel.querySelector("form"));
        const variables = this.panel.querySelector("[name='trial.variables']").value;
        form.set("trial.variables", variables);
        this.socket.send(JSON.stringify({ type: "start", form: new URLSearchParams(form).toString() }));
      };
      this.socket.onmessage = ({ data }) => {
        if (typeof data === "string") this.hear(JSON.parse(data));
        else this.speaker.port.postMessage({ sound: data }, [data]);
      };
      this.socket.onclose = () => this.finish(this.panel.dataset.lost);
    }

    hear(event) {
      if (event.type === "started") {
        this.started = true;
        this.level.hidden = false;
        this.say(this.panel.dataset.listens);
      } else if (event.type === "clear") this.speaker.port.postMessage({ clear: true });
      else if (event.type === "latency") this.latency = event;
      else if (event.type === "turn") this.turn(event);
      else if (event.type === "tool") this.aside(this.panel.dataset.tool, [event.text], "tool");
      else if (event.type === "passages") {
        this.aside(this.panel.dataset.passages, event.passages.map(({ document: name, text }) => `${name}: ${text}`), "aside");
      } else if (event.type === "ended") this.finish(`${this.panel.dataset.ended} (${event.reason})`);
      else if (event.type === "error") this.finish(event.message, true);
    }

    turn({ role, text }) {
      const item = add("li", this.turns, undefined, role);
      add("strong", add("p", item, undefined, "who"), this.panel.dataset[role]);
      add("p", item, text, "said").dir = "auto";
      if (role === "agent" && this.latency) {
        const { total_ms: total, steps_ms: steps } = this.latency;
        const parts = Object.entries(steps).map(([name, ms]) => `${name.replaceAll("_", " ")} ${ms}`);
        add("p", item, `${this.panel.dataset.latency} ${total} ms · ${parts.join(" · ")}`, "hint");
        this.latency = null;
      }
      this.turns.parentElement.scrollTop = this.turns.scrollHeight;
    }

    aside(label, texts, className) {
      const details = add("details", add("li", this.turns, undefined, className));
      add("summary", details, `${label} (${texts.length})`);
      for (const text of texts) add("pre", details, text, "wrapped");
    }

    hangUp() {
      if (this.socket && this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify({ type: "end" }));
      else this.finish(this.panel.dataset.ended);
    }

    finish(text, isRefused = false) {
      if (this.over) return;
      this.over = true;
      this.say(text);
      this.state.classList.toggle("failure", isRefused);
      this.button.textContent = this.label;
      this.level.hidden = true;
      this.release();
      talk = null;
    }

    release() {
      if (this.socket) {
        this.socket.onclose = null;
        this.socket.close(1000);
      }
      for (const track of this.stream ? this.stream.getTracks() : []) track.stop();
      if (this.audio && this.audio.state !== "closed") this.audio.close();
    }
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-talk-button]");
    if (!button) return;
    if (talk) talk.hangUp();
    else talk = new Talk(button);
  });
  // A written message ends what is spoken: the panel is drawn anew.
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.target.id === "trial-form" && talk) talk.hangUp();
  });
  document.addEventListener("htmx:load", (event) => {
    offer(event.target);
    const turns = event.target.querySelector?.("#trial-turns");
    if (!turns) return;
    turns.parentElement.scrollTop = turns.scrollHeight;
    if (turns.children.length > 0) event.target.querySelector("#trial-text")?.focus();
  });
  // ⌘S saves.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "s" || !(event.metaKey || event.ctrlKey) || event.altKey) return;
    const save = document.querySelector("form[data-keep] button[name=save]");
    if (!save) return;
    event.preventDefault();
    save.click();
  });
  // Sliders write into the number beside them, and follow it.
  const follow = (slider) => {
    const number = document.getElementById(slider.dataset.slides);
    const value = number.value.trim();
    slider.value = value === "" || Number.isNaN(Number(value)) ? slider.dataset.usual : value;
    const unit = number.nextElementSibling;
    slider.setAttribute("aria-valuetext", `${slider.value} ${unit ? unit.textContent : ""}`.trim());
    slider.hidden = false;
  };
  const sliders = (root) => root.querySelectorAll?.("[data-slides]").forEach(follow);
  document.addEventListener("input", ({ target }) => {
    if (target.matches("[data-slides]")) {
      document.getElementById(target.dataset.slides).value = target.value;
      follow(target);
    } else {
      const slider = target.parentElement?.querySelector("[data-slides]");
      if (slider) follow(slider);
    }
  });
  // Typing {{ offers the variables of the form.
  const completed = "#field-system_prompt, #field-first_message";
  const begun = /\{\{([A-Za-z_]\w*)?$/;
  let offered = null;
  const close = () => {
    if (!offered) return;
    offered.list.remove();
    offered.text.removeAttribute("aria-controls");
    offered.text.removeAttribute("aria-activedescendant");
    offered = null;
  };
  const choose = (name) => {
    const { text } = offered;
    close();
    const at = text.selectionStart;
    const begin = at - (begun.exec(text.value.slice(0, at))?.[1] ?? "").length;
    const end = text.value.startsWith("}}", at) ? at + 2 : at;
    text.setRangeText(`${name}}}`, begin, end, "end");
    text.dispatchEvent(new Event("input", { bubbles: true }));
    text.focus();
  };
  const point = (place) => {
    const options = [...offered.list.children];
    offered.place = (place + options.length) % options.length;
    options.forEach((option, at) => option.setAttribute("aria-selected", at === offered.place));
    offered.text.setAttribute("aria-activedescendant", options[offered.place].id);
  };
  const complete = (text) => {
    close();
    const typed = begun.exec(text.value.slice(0, text.selectionStart));
    if (!typed) return;
    const inputs = document.querySelectorAll('#variables input[name^="dynamic_variables["][name$=".name"]');
    const names = [...new Set([...inputs].map(({ value }) => value.trim()))];
    const fitting = names.filter((name) => name && name !== typed[1] && name.startsWith(typed[1] ?? ""));
    if (fitting.length === 0) return;
    const list = document.createElement("ul");
    list.className = "completions";
    list.id = "completions";
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", document.querySelector("#variables summary").textContent);
    fitting.slice(0, 8).forEach((name, at) => {
      const option = add("li", list, name);
      option.id = `completion-${at}`;
      option.setAttribute("role", "option");
      option.addEventListener("pointerdown", (event) => {
        event.preventDefault();
        choose(name);
      });
    });
    text.after(list);
    text.setAttribute("aria-controls", list.id);
    offered = { list, text };
    point(0);
  };
  document.addEventListener("input", ({ target }) => {
    if (target.matches(completed)) complete(target);
  });
  document.addEventListener("focusout", close);
  document.addEventListener("keydown", (event) => {
    if (!offered || event.isComposing) return;
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps) point(offered.place + steps[event.key]);
    else if (event.key === "Enter" || event.key === "Tab") choose(offered.list.children[offered.place].textContent);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  });
  document.addEventListener("htmx:load", (event) => sliders(event.target));
  sliders(document);
  offer(document);
})();

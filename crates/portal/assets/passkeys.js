// Passkeys: the browser is asked for one, and its answer is sent as a field of the form. Without this there are passwords and
// codes.
(() => {
  const api = window.PublicKeyCredential;
  if (!api?.parseRequestOptionsFromJSON || !api.prototype.toJSON) return;
  for (const part of document.querySelectorAll("[data-passkey], [data-new-passkey]")) part.hidden = false;
  for (const part of document.querySelectorAll("[data-no-passkeys]")) part.hidden = true;

  const refuse = (part, text) => {
    const form = part.closest("form");
    form.parentElement.querySelector(".refusal")?.remove();
    const said = Object.assign(document.createElement("p"), { className: "refusal", textContent: text, tabIndex: -1 });
    said.setAttribute("role", "alert");
    form.before(said);
    said.focus();
  };

  // The browser asks for one passkey at a time: what it asked before ends.
  let asked;
  const ask = async (part, url, fields, call, isQuiet) => {
    asked?.abort();
    const { signal } = asked = new AbortController();
    let why = part.dataset.failed;
    try {
      const answer = await fetch(url, { method: "POST", body: new URLSearchParams(fields), signal });
      // The session has ended: the page says so.
      if (answer.status === 401) return void window.location.reload();
      const told = await answer.json();
      if (answer.ok) return JSON.stringify(await call(told, signal));
      why = told.message;
    } catch (error) {
      if (error.name === "AbortError") return;
    }
    // Nobody asked for what the browser offers by itself.
    if (!isQuiet) refuse(part, why);
  };

  const use = async (part, mediation) => {
    const { form } = part.querySelector("input");
    const code = form.elements[part.dataset.instead];
    const isNeeded = code?.required;
    if (code) code.required = false;
    if (!form.reportValidity()) {
      if (code) code.required = isNeeded;
      return;
    }
    const fields = { _token: form.elements._token?.value ?? "" };
    const get = async (told, signal) => {
      const publicKey = api.parseRequestOptionsFromJSON(told);
      return navigator.credentials.get({ publicKey, signal, mediation });
    };
    const answer = await ask(part, part.dataset.passkey, fields, get, Boolean(mediation));
    if (!answer) {
      if (code) code.required = isNeeded;
      return;
    }
    form.elements.passkey.value = answer;
    // As a click on its button would, with the question that it asks.
    form.requestSubmit(form.querySelector("button[type=submit]"));
  };
  document.addEventListener("click", (event) => {
    const part = event.target.closest("[data-passkey] button")?.closest("[data-passkey]");
    if (part) use(part);
  });

  // Before the form is sent, and before anything else reads that it is.
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    const part = form.querySelector("[data-new-passkey]");
    if (!part) return;
    event.preventDefault();
    const create = async (told, signal) => {
      const publicKey = api.parseCreationOptionsFromJSON(told);
      return navigator.credentials.create({ publicKey, signal });
    };
    const answer = await ask(part, part.dataset.newPasskey, new FormData(form), create);
    // Its proof is used up.
    if (form.elements.passkey) form.elements.passkey.value = "";
    if (!answer) return;
    form.elements.credential.value = answer;
    HTMLFormElement.prototype.submit.call(form);
  }, true);

  // The browser offers passkeys where the address is typed. A challenge lasts five minutes: another one comes before.
  const offer = async () => {
    const part = document.querySelector("[data-passkey][data-autofill]");
    if (!part || !await api.isConditionalMediationAvailable?.()) return;
    use(part, "conditional");
    const mine = asked;
    setTimeout(() => {
      if (asked !== mine) return;
      if (document.hidden) document.addEventListener("visibilitychange", offer, { once: true });
      else offer();
    }, 4 * 60_000);
  };
  offer();
})();

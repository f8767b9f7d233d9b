// The chat: keys, and what has to be moved about as messages come.
(() => {
  "use strict";
  const form = document.getElementById("composer");
  const turns = document.getElementById("turns");
  if (!form || !turns) return;
  const field = form.elements.message;
  const numbers = () => [...turns.querySelectorAll("[data-seq]")].map((one) => Number(one.dataset.seq));
  const newest = () => Math.max(0, ...numbers());
  const refused = document.getElementById("refused");
  let recalled = -1;
  let sent = "";

  field.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      if (field.value.trim()) form.requestSubmit();
    } else if (event.key === "ArrowUp" && (field.value === "" || recalled >= 0)) {
      const said = [...turns.querySelectorAll(".user .said")].map((one) => one.dataset.source).reverse();
      if (recalled + 1 >= said.length) return;
      event.preventDefault();
      recalled += 1;
      field.value = said[recalled];
    }
  });
  field.addEventListener("input", () => { recalled = -1; });

  // What was typed is kept by this tab until it is sent, for each session.
  let session = form.elements.session?.value ?? "";
  const draft = () => `kds-draft:${session}`;
  field.addEventListener("input", () => sessionStorage.setItem(draft(), field.value));
  addEventListener("pageshow", () => { field.value ||= sessionStorage.getItem(draft()) ?? ""; });

  // The view follows what arrives while the reader is at the end, and else stays.
  const view = document.documentElement;
  const down = document.getElementById("to-end");
  const atEnd = () => view.scrollHeight - view.clientHeight - view.scrollTop < 80;
  let follows = true;
  let top = 0;
  const toEnd = () => { follows = true; view.scrollTop = view.scrollHeight; top = view.scrollTop; };
  const look = () => {
    if (atEnd()) follows = true;
    else if (view.scrollTop < top) follows = false; // what arrives never scrolls up: the reader did
    top = view.scrollTop;
    down.hidden = follows || atEnd();
  };
  const arrived = () => { look(); if (follows) toEnd(); }; // the reader may have scrolled just now
  addEventListener("scroll", look, { passive: true });
  turns.addEventListener("click", (event) => { if (event.target.closest("summary")) follows = false; }); // to be read
  down.addEventListener("click", () => { toEnd(); field.focus(); });
  for (const event of ["htmx:afterSettle", "htmx:sseMessage"]) document.addEventListener(event, arrived);
  if (newest()) toEnd();
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      field.focus();
    } else if (event.key === "Escape") {
      document.getElementById("stop")?.click();
    } else if (event.key === "End" && !typing) {
      toEnd();
    }
  });

  // <button data-edit>: takes up the message that it stands below.
  turns.addEventListener("click", (event) => {
    const said = event.target.closest("[data-edit]")?.closest(".line").querySelector(".said");
    if (!said) return;
    field.select();
    document.execCommand("insertText", false, said.dataset.source); // Undo has what was there
  });

  // Every request says what this tab has shown, so that it gets the rest, also from other tabs.
  document.addEventListener("htmx:configRequest", (event) => {
    event.detail.parameters.after = newest();
  });
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.detail.requestConfig.verb === "post") refused.replaceChildren();
    if (event.target !== form) return;
    turns.querySelector(".empty")?.remove();
    sent = field.value;
    toEnd();
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    const { xhr } = event.detail;
    if (event.target !== form || xhr.status < 200 || xhr.status >= 400) return;
    sessionStorage.removeItem(draft());
    const begun = xhr.getResponseHeader("HX-Redirect");
    if (begun) session = new URL(begun, location).searchParams.get("session");
    // what was typed since is the next message
    field.value = field.value.startsWith(sent) ? field.value.slice(sent.length).trimStart() : field.value;
    if (field.value) sessionStorage.setItem(draft(), field.value);
    recalled = -1;
    htmx.trigger(document.body, "kds-said");
  });
  // Earlier messages come above what is read, which stays where it is.
  let below = 0;
  turns.addEventListener("htmx:beforeSwap", (event) => {
    below = event.target.matches(".earlier") ? view.scrollHeight - view.scrollTop : 0;
  });
  turns.addEventListener("htmx:afterSwap", () => {
    if (!below) return;
    view.scrollTop = view.scrollHeight - below;
    turns.querySelector(".earlier a")?.focus({ preventScroll: true });
    below = 0;
  });
  document.addEventListener("htmx:afterSettle", () => {
    const seen = new Set();
    for (const one of turns.querySelectorAll("[data-seq]")) {
      if (seen.has(one.dataset.seq)) one.remove();
      seen.add(one.dataset.seq);
    }
  });

  document.addEventListener("htmx:sseError", () => ask("&cut=1")); // says so if the service has ended

  // What was said in another tab comes when this one is looked at again.
  document.addEventListener("visibilitychange", () => refresh());
  addEventListener("focus", () => refresh());
  const refresh = () => { if (!document.hidden && session) ask(""); };
  const ask = (more) =>
    htmx.ajax("GET", `/chat/since?session=${encodeURIComponent(session)}${more}`, { target: "#turns", swap: "beforeend" });
})();

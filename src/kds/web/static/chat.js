// The chat: keys, and what has to be moved about as messages come.
(() => {
  "use strict";
  const form = document.getElementById("composer");
  const turns = document.getElementById("turns");
  if (!form || !turns) return;
  const field = form.elements.message;
  const numbers = () => [...turns.querySelectorAll("[data-seq]")].map((one) => Number(one.dataset.seq));
  const newest = () => Math.max(0, ...numbers());
  const toEnd = () => document.getElementById("composer").scrollIntoView({ block: "end" });
  let recalled = -1;

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
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      field.focus();
    } else if (event.key === "Escape") {
      document.getElementById("stop")?.click();
    }
  });

  // Every request says what this tab has shown, so that it gets the rest, also from other tabs.
  document.addEventListener("htmx:configRequest", (event) => {
    event.detail.parameters.after = newest();
  });
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.target === form) turns.querySelector(".empty")?.remove();
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    if (event.target !== form || !event.detail.successful) return;
    form.reset();
    recalled = -1;
  });
  document.addEventListener("htmx:afterSettle", () => {
    const seen = new Set();
    for (const one of turns.querySelectorAll("[data-seq]")) {
      if (seen.has(one.dataset.seq)) one.remove();
      seen.add(one.dataset.seq);
    }
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target?.id === "turns") toEnd();
  });
  document.addEventListener("htmx:sseMessage", () => {
    const { scrollHeight, clientHeight, scrollTop } = document.documentElement;
    if (scrollHeight - clientHeight - scrollTop < 200) toEnd();
  });

  // What was said in another tab comes when this one is looked at again.
  document.addEventListener("visibilitychange", () => refresh());
  addEventListener("focus", () => refresh());
  const refresh = () => {
    const session = form.elements.session?.value;
    if (document.hidden || !session) return;
    htmx.ajax("GET", `/chat/since?session=${encodeURIComponent(session)}`, { target: "#turns", swap: "beforeend" });
  };
  if (newest()) toEnd();
})();

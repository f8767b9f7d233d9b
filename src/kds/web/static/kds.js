// What the page does beyond plain links and forms. Everything works without it.
(() => {
  "use strict";
  const PING_MS = 60_000;

  // The service ends when nobody asks for half an hour: reading and typing is asking, too.
  let asked = Date.now();
  const here = () => {
    if (Date.now() - asked < PING_MS) return;
    asked = Date.now();
    fetch("/alive", { cache: "no-store" }).catch(() => {});
  };
  for (const event of ["keydown", "pointerdown", "scroll", "focus"]) {
    addEventListener(event, here, { capture: true, passive: true });
  }

  const say = (kind, text) => {
    const place = document.getElementById("alerts");
    if (!place) return;
    const box = document.createElement("div");
    box.className = `alert ${kind}`;
    box.setAttribute("role", kind === "bad" ? "alert" : "status");
    box.textContent = text;
    place.replaceChildren(box);
  };
  document.addEventListener("htmx:sendError", () =>
    say("bad", "KDS does not answer: its service has ended. Start it again: kds web"));
  document.addEventListener("htmx:timeout", () => say("bad", "KDS took too long. Try again."));

  // <button data-copy="ID">: copies the text of an element.
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    const source = button && document.getElementById(button.dataset.copy);
    if (!source) return;
    const label = button.textContent;
    try {
      await navigator.clipboard.writeText(source.dataset.source ?? source.textContent);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed";
    }
    setTimeout(() => { button.textContent = label; }, 1500);
  });
})();

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

  // Every request says what this tab has shown, so that it gets the rest, whoever said it.
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

// Documents: files are dropped, and how much of them was sent is shown.
(() => {
  "use strict";
  const form = document.querySelector("form.drop");
  if (!form) return;
  const files = form.elements.file;
  const bar = form.querySelector("progress");
  for (const event of ["dragenter", "dragover"]) {
    form.addEventListener(event, (one) => { one.preventDefault(); form.classList.add("over"); });
  }
  form.addEventListener("dragleave", () => form.classList.remove("over"));
  form.addEventListener("drop", (event) => {
    event.preventDefault();
    form.classList.remove("over");
    files.files = event.dataTransfer.files;
    form.requestSubmit();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const sent = new XMLHttpRequest();
    bar.hidden = false;
    sent.upload.onprogress = (one) => { bar.value = one.lengthComputable ? (100 * one.loaded) / one.total : 0; };
    sent.upload.onload = () => bar.removeAttribute("value");
    sent.onload = () => {
      const page = new DOMParser().parseFromString(sent.responseText, "text/html");
      document.title = page.title;
      document.querySelector("main").replaceWith(page.querySelector("main"));
      history.replaceState(null, "", "/documents");
      document.getElementById("main").focus();
    };
    sent.onerror = () => form.submit();
    sent.open("POST", form.action);
    sent.send(new FormData(form));
  });
})();

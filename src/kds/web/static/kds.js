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

  // Times stand there in UTC, and are shown in the time of the reader.
  const local = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  const localise = () => {
    for (const one of document.querySelectorAll("time:not([title])")) {
      one.title = one.textContent;
      one.textContent = local.format(new Date(one.dateTime));
    }
  };
  localise();
  document.addEventListener("htmx:afterSettle", localise);

  // Light and dark change on the page that is open, with what is typed on it.
  document.querySelector(".themes")?.addEventListener("submit", (event) => {
    event.preventDefault();
    const form = event.target;
    fetch(form.action, { method: "POST", body: new FormData(form, event.submitter), redirect: "manual" }).catch(() => {});
    document.documentElement.dataset.theme = event.submitter.value;
    for (const one of form.querySelectorAll("button")) one.setAttribute("aria-pressed", one === event.submitter);
  });

  // <form data-long>: who leaves the page with something typed into it is asked.
  let unsent = false;
  document.addEventListener("input", (event) => { unsent ||= event.target.form?.matches("[data-long]"); });
  document.addEventListener("submit", (event) => { unsent &&= event.defaultPrevented; });
  addEventListener("beforeunload", (event) => { if (unsent) event.preventDefault(); });

  // <button data-copy="ID">: copies the text of an element; "": of the next one.
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    const source = button && (document.getElementById(button.dataset.copy) ?? button.nextElementSibling);
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

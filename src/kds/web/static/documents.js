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
      htmx.process(document.querySelector("main"));
      history.replaceState(null, "", "/documents");
      document.getElementById("main").focus();
    };
    sent.onerror = () => form.submit();
    sent.open("POST", form.action);
    sent.send(new FormData(form));
  });
})();

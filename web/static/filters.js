"use strict";
// Applies a filter as soon as a pointer has chosen it. Keys go through several choices: they end at the button.

for (const form of document.querySelectorAll("form.filters")) {
  let keyed = false;
  form.addEventListener("keydown", () => { keyed = true; });
  form.addEventListener("pointerdown", () => { keyed = false; });
  form.addEventListener("change", (event) => { if (!keyed && event.target.matches("select")) form.requestSubmit(); });
}

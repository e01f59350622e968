// Keyboard shortcuts: "/" focuses the search, "j" and "k" move through a list, "Escape" leaves a field.
"use strict";
document.addEventListener("keydown", (event) => {
  const field = event.target.matches("input:not([type=radio]), textarea, select");
  if (event.key === "Escape" && field) return event.target.blur();
  if (field || event.ctrlKey || event.metaKey || event.altKey) return;
  const older = document.querySelector("a[rel=prev]");
  const newer = document.querySelector("a[rel=next]");
  if (event.key === "/") {
    const search = document.getElementById("search");
    if (search) { event.preventDefault(); search.focus(); search.select(); }
  } else if (event.key === "j" || event.key === "k") {
    const links = [...document.querySelectorAll("main li > a, main td a.url, main td > a:has(time), main h2.hunk > a:first-child")];
    if (!links.length) return;
    const at = links.indexOf(document.activeElement);
    const next = at < 0 ? (event.key === "j" ? 0 : links.length - 1) : at + (event.key === "j" ? 1 : -1);
    links[Math.max(0, Math.min(links.length - 1, next))].focus();
  } else if (event.key === "h" && older) older.click();
  else if (event.key === "l" && newer) newer.click();
});

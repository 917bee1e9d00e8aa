"use strict";
// Sorts the tables of a page that no server sorts, as its address says: ?sort=COLUMN&order=desc. Rows without a value come last.

const wanted = new URLSearchParams(location.search);
const words = new Intl.Collator("en", { numeric: true });

function shown(row, place) {
  const cell = row.cells[place];
  return cell.querySelector(".dim") ? "" : (cell.querySelector("a:not(.mark), b") ?? cell).textContent.trim();
}

function compare(one, other, numeric) {
  return (numeric && parseFloat(one) - parseFloat(other)) || words.compare(one, other);
}

for (const link of document.querySelectorAll("a.sort")) {
  const own = new URLSearchParams(link.search);
  if (own.get("sort") !== wanted.get("sort")) continue;
  const head = link.closest("th");
  const body = head.closest("table").tBodies[0];
  const down = wanted.get("order") === "desc";
  const numeric = head.classList.contains("n");
  const rows = [...body.rows].map((row) => [shown(row, head.cellIndex), row]);
  rows.sort(([a], [b]) => (a === "") - (b === "") || (down ? -1 : 1) * compare(a, b, numeric));
  body.append(...rows.map(([, row]) => row));
  for (const other of head.parentElement.querySelectorAll("[aria-sort]")) {
    other.setAttribute("aria-sort", "none");
    other.querySelector("a.sort > span")?.remove();
  }
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  own.set("order", down ? "asc" : "desc");
  link.search = own;
  link.append(down ? " ▼" : " ▲");
}

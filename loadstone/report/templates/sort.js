// Columns are sorted by a click on their heads.
function makeSortable(part) {
  for (const button of part.querySelectorAll("th button")) {
    button.addEventListener("click", () => {
      const head = button.parentElement, table = head.closest("table"), body = table.tBodies[0];
      const column = [...head.parentElement.children].indexOf(head);
      const up = head.getAttribute("aria-sort") !== "ascending";
      const key = row => { const cell = row.cells[column]; return cell.dataset.v ?? cell.textContent.trim(); };
      const number = text => text === "" ? Infinity : Number(text);
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        const numeric = !Number.isNaN(number(x)) && !Number.isNaN(number(y));
        return (numeric ? number(x) - number(y) || 0 : x.localeCompare(y)) * (up ? 1 : -1);
      });
      for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      body.append(...rows);
    });
  }
}
makeSortable(document);

// Columns are sorted by a click on their heads.
function makeSortable(part) {
  for (const button of part.querySelectorAll("th button")) {
    button.addEventListener("click", () => {
      const head = button.parentElement, table = head.closest("table"), body = table.tBodies[0];
      const column = [...head.parentElement.children].indexOf(head);
      const up = head.getAttribute("aria-sort") !== "ascending";
      const cells = [...body.rows].map(row => row.cells[column]);
      const key = row => { const cell = row.cells[column]; return cell.dataset.v ?? cell.textContent.trim(); };
      // Numbers have a value of their own; the id of a trial, such as 12e4, is none, but a number may be in a name.
      const numeric = cells.some(cell => cell.dataset.v !== undefined);
      const number = text => text === "" || Number.isNaN(Number(text)) ? Infinity : Number(text);
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        const order = numeric ? number(x) - number(y) || 0 : x.localeCompare(y, "en", {numeric: true});
        return order * (up ? 1 : -1);
      });
      for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      body.append(...rows);
    });
  }
}
makeSortable(document);

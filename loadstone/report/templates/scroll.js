// What is wider than its place can be focused, so that keys scroll it, has a name, and shows on which side there is more.
let makeScrollable;
{
  const WIDE = ".scroll, .sections, pre";
  const heading = part => part.closest("figure")?.querySelector("figcaption") ?? part.closest("details")?.querySelector("summary") ??
    part.closest("section, header")?.querySelector("h1, h2") ?? document.querySelector("h1");
  const show = part => {
    const hidden = part.scrollWidth - part.clientWidth;
    part.classList.toggle("before", part.scrollLeft > 1);
    part.classList.toggle("after", part.scrollLeft < hidden - 1);
    if (part.matches("nav")) return;  // its links can be focused
    if (hidden > 1) {
      part.tabIndex = 0;
      part.setAttribute("role", "group");
      part.setAttribute("aria-label", `${heading(part).textContent.trim()} (scrolls sideways)`);
    } else {
      for (const name of ["tabindex", "role", "aria-label"]) part.removeAttribute(name);
    }
  };
  const sizes = new ResizeObserver(entries => { for (const entry of entries) show(entry.target); });
  makeScrollable = part => {
    const found = [...part.querySelectorAll(WIDE), ...(part.matches?.(WIDE) ? [part] : [])];
    for (const each of found) {
      sizes.observe(each);
      each.addEventListener("scroll", () => show(each), {passive: true});
    }
  };
  makeScrollable(document);
}

// Lists what is hard to use in a page without seeing it, or without seeing it well.
(() => {
  const wrong = [];
  const shown = element => element.offsetParent !== null && !element.classList.contains("unseen");
  const name = element => `<${element.localName} ${element.id || element.className}> ${element.textContent.trim().slice(0, 30)}`;
  if (!document.documentElement.lang) wrong.push("no language");
  for (const landmark of ["header", "nav", "main", "footer"])
    if (!document.querySelector(landmark)) wrong.push(`no <${landmark}>`);
  if (document.querySelectorAll("h1").length !== 1) wrong.push("not one h1");
  for (const field of document.querySelectorAll("input:not([type=hidden]), select, textarea"))
    if (!field.labels.length) wrong.push(`no label: ${name(field)}`);
  for (const picture of document.querySelectorAll("img"))
    if (!picture.alt) wrong.push(`no text instead of a picture: ${picture.src}`);
  for (const control of document.querySelectorAll("a, button"))
    if (!control.textContent.trim() && !control.querySelector("img[alt]")) wrong.push(`no name: ${name(control)}`);
  if (document.documentElement.scrollWidth > window.innerWidth) wrong.push("wider than the window");

  // Contrast as WCAG 2 computes it; 4.5 to 1 is asked for.
  const channels = text => text.match(/[\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map(c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const ground = element => {
    for (; element; element = element.parentElement) {
      const colour = channels(getComputedStyle(element).backgroundColor);
      if (colour[3] !== 0) return colour;
    }
    return [255, 255, 255];
  };
  for (const element of document.querySelectorAll("body *")) {
    const speaks = [...element.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if (!speaks || !shown(element)) continue;
    const [a, b] = [luminance(channels(getComputedStyle(element).color)), luminance(ground(element))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) wrong.push(`contrast ${contrast.toFixed(1)}: ${name(element)}`);
  }
  return wrong;
})()

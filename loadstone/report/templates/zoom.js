// A figure opens large: wheel, buttons and keys zoom, dragging and arrows move, two fingers do both, Escape closes.
let makeZoomable;
{
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const press = (label, text, action) => {
    const button = make("button", {type: "button", "aria-label": label, title: label}, text);
    button.addEventListener("click", action);
    return button;
  };
  const stage = make("div", {class: "stage", tabindex: "0", role: "group", "aria-label": "Figure: + and - zoom, arrows move, 0 shows all"});
  const title = make("h2", {id: "zoom-title"});
  const tools = make("div", {class: "tools"},
    press("Zoom in", "+", () => zoom(1.5)), press("Zoom out", "−", () => zoom(1 / 1.5)),
    press("Show all", "⤢", () => show(home)), press("Close", "×", () => dialog.close()));
  const dialog = make("dialog", {id: "zoom", "aria-labelledby": "zoom-title"}, make("header", {}, title, tools), stage);
  document.body.append(dialog);

  let svg, gap, home, view;  // gap keeps the figure's place in the page while it is in the dialog

  function show(box) {
    view = box;
    svg.setAttribute("viewBox", `${box.x} ${box.y} ${box.width} ${box.height}`);
  }
  function zoom(factor, x = view.x + view.width / 2, y = view.y + view.height / 2) {
    const scale = Math.min(Math.max(1 / factor, home.width / 40 / view.width), 2 * home.width / view.width);
    show({x: x - (x - view.x) * scale, y: y - (y - view.y) * scale, width: view.width * scale, height: view.height * scale});
  }
  function move(x, y) {
    show({...view, x: view.x - x, y: view.y - y});
  }
  const inside = event => new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());

  function open(figure) {
    svg = figure.querySelector("svg");
    const {x, y, width, height} = svg.viewBox.baseVal;
    home = {x, y, width, height};
    gap = make("div", {style: `height: ${svg.getBoundingClientRect().height}px`});
    title.textContent = figure.querySelector("figcaption strong").textContent;
    svg.replaceWith(gap);
    stage.replaceChildren(svg);
    show(home);
    dialog.showModal();
    stage.focus();
  }
  dialog.addEventListener("close", () => {
    show(home);
    gap.replaceWith(svg);
  });
  dialog.addEventListener("click", event => { if (event.target === dialog) dialog.close(); });
  stage.addEventListener("wheel", event => {
    event.preventDefault();
    const at = inside(event);
    zoom(Math.exp(-event.deltaY / (event.deltaMode ? 12 : 400)), at.x, at.y);
  }, {passive: false});
  const keys = {
    "+": () => zoom(1.5), "=": () => zoom(1.5), "-": () => zoom(1 / 1.5), "0": () => show(home),
    ArrowLeft: () => move(view.width / 8, 0), ArrowRight: () => move(-view.width / 8, 0),
    ArrowUp: () => move(0, view.height / 8), ArrowDown: () => move(0, -view.height / 8),
  };
  dialog.addEventListener("keydown", event => {
    if (keys[event.key] && !event.ctrlKey && !event.metaKey) { event.preventDefault(); keys[event.key](); }
  });

  const fingers = new Map();
  const middle = () => {
    const points = [...fingers.values()], sum = points.reduce((a, p) => ({x: a.x + p.x, y: a.y + p.y}));
    const spread = points.length > 1 ? Math.hypot(points[0].x - points[1].x, points[0].y - points[1].y) : 1;
    return {clientX: sum.x / points.length, clientY: sum.y / points.length, spread};
  };
  stage.addEventListener("pointerdown", event => {
    stage.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, {x: event.clientX, y: event.clientY});
  });
  stage.addEventListener("pointermove", event => {
    if (!fingers.has(event.pointerId)) return;
    const before = middle();
    fingers.set(event.pointerId, {x: event.clientX, y: event.clientY});
    const after = middle(), from = inside(before), to = inside(after);
    move(to.x - from.x, to.y - from.y);
    if (after.spread !== before.spread) { const at = inside(after); zoom(after.spread / before.spread, at.x, at.y); }
  });
  for (const end of ["pointerup", "pointercancel"]) stage.addEventListener(end, event => fingers.delete(event.pointerId));

  makeZoomable = part => {
    for (const figure of part.querySelectorAll("figure")) {
      if (!figure.querySelector("svg")) continue;
      const name = figure.querySelector("figcaption strong").textContent;
      figure.prepend(make("div", {class: "enlarge"}, press(`Enlarge: ${name}`, "⤢", () => open(figure))));
      figure.querySelector("svg").addEventListener("click", () => { if (!dialog.open) open(figure); });
    }
  };
  makeZoomable(document);
}

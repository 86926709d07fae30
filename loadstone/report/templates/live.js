// While a run goes on: a part of the page that has changed is replaced, and the reader's place stays.
{
  const state = document.createElement("p");
  state.className = "live";
  state.setAttribute("role", "status");
  state.textContent = "Live: waiting for the first report";
  document.querySelector("header").prepend(state);

  const parts = page => [...page.querySelectorAll("header > *:not(.live), nav.sections, main > section")];
  const name = (part, place) => part.id || `${part.parentElement.tagName}-${place}`;
  const whole = new DOMParser();
  let known;  // each part as the server wrote it, since scripts and readers change what is shown
  const texts = page => new Map(parts(page).map((part, place) => [name(part, place), part.outerHTML]));

  async function update(event) {
    if (!document.querySelector("nav.sections")) { location.reload(); return; }
    if (document.querySelector("#zoom")?.open) { dialogClosed(() => update(event)); return; }
    const answer = await fetch(location.pathname, {cache: "no-store"});
    if (!answer.ok) return;
    const page = whole.parseFromString(await answer.text(), "text/html");
    const now = texts(page), shown = new Map(parts(document).map((part, place) => [name(part, place), part]));
    const sameParts = known && [...now.keys()].join() === [...known.keys()].join();
    const top = document.elementFromPoint(innerWidth / 2, 60)?.closest("section[id]"), above = top?.getBoundingClientRect().top;
    if (sameParts) {
      for (const [id, text] of now) if (text !== known.get(id)) replace(shown.get(id), text);
    } else {
      const header = document.querySelector("header"), main = document.querySelector("main");
      header.replaceChildren(state, ...page.querySelector("header").children);
      const sections = page.querySelector("nav.sections");
      document.querySelector("nav.sections").replaceWith(sections);
      makeScrollable(sections);
      const open = opened(main);
      main.replaceChildren(...page.querySelector("main").children);
      prepared(main, open);
    }
    known = now;
    const there = top && document.getElementById(top.id);
    if (there) scrollBy({top: there.getBoundingClientRect().top - above, behavior: "instant"});
    state.textContent = `Live: ${event.trials} ${event.trials === 1 ? "trial" : "trials"}, as of ${event.time}`;
  }
  const dialogClosed = then => document.querySelector("#zoom").addEventListener("close", then, {once: true});
  const opened = part => [...part.querySelectorAll("details")].map(each => each.open);
  function replace(part, text) {
    const fresh = whole.parseFromString(text, "text/html").body.firstElementChild, open = opened(part);
    part.replaceWith(fresh);
    prepared(fresh, open);
  }
  function prepared(part, open) {
    part.querySelectorAll("details").forEach((each, place) => { each.open = open[place] ?? false; });
    makeSortable(part);
    makeZoomable(part);
    makeScrollable(part);
  }

  const events = new EventSource("events");
  events.addEventListener("report", event => update(JSON.parse(event.data)));
  events.addEventListener("end", event => {
    events.close();
    state.textContent = `${JSON.parse(event.data).text}`;
  });
  events.onerror = () => { state.textContent = "Not connected: `loadstone watch` has ended"; };
}

// Keys, the browser's time zone, the count of new posts, and the operator's numbers. Pages work without it.
"use strict";

document.cookie = `tga_zone=${Intl.DateTimeFormat().resolvedOptions().timeZone};path=/;max-age=31536000;samesite=lax`;

// The page that is shown at / has an address of its own.
const shown = document.querySelector(".rail [aria-current=page]");
if (location.pathname === "/" && shown) history.replaceState(null, "", shown.href);

// The icon of an installed page counts unread alerts.
const unread = document.body.dataset.unread;
if (unread !== undefined && "setAppBadge" in navigator) navigator.setAppBadge(Number(unread)).catch(() => {});

const posts = () => [...document.querySelectorAll("main article[data-post]")].filter((post) => post.offsetParent !== null);
const current = () => document.querySelector("article.here");

function go(step) {
  const all = posts();
  const here = all.indexOf(current());
  const next = all[Math.min(Math.max(here + step, 0), all.length - 1)];
  if (!next) return;
  current()?.classList.remove("here");
  next.classList.add("here");
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: here === -1 ? "nearest" : "start" });
}

const press = (name) => (current() ?? document.querySelector("main article[data-post]") ?? document.querySelector("main"))?.querySelector(`[data-act=${name}]`)?.click();

// A narrow page has the search box on the page of the search alone.
function search() {
  const box = document.getElementById("q");
  if (box?.checkVisibility()) box.focus();
  else if (document.body.dataset.base) location.assign(`${document.body.dataset.base}/search`);
}

const keys = {
  j: () => go(1),
  k: () => go(-1),
  o: () => press("open"),
  r: () => press("read"),
  s: () => press("save"),
  d: () => press("done"),
  f: () => press("follow"),
  m: () => press("mute"),
  u: () => document.querySelector("[data-act=undo]")?.click(),
  "/": search,
  "?": () => document.getElementById("keys")?.showModal(),
};

// Go anywhere: the list of /go over any page.
const places = document.getElementById("go");
const placeName = places?.querySelector("input");
let findingPlaces = 0;
async function findPlaces() {
  const asked = ++findingPlaces;
  const answer = await fetch(`${document.body.dataset.base}/go/found?q=${encodeURIComponent(placeName.value)}`, { headers: { "HX-Request": "true" } });
  if (answer.ok && asked === findingPlaces) places.querySelector("[data-found]").innerHTML = await answer.text();
}
placeName?.addEventListener("input", findPlaces);
places?.querySelector("form").addEventListener("submit", (event) => {
  const first = places.querySelector("[data-found] a");
  if (!first) return;
  event.preventDefault();
  first.click();
});

let awaitsSection = false;

document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k" && places) {
    event.preventDefault();
    places.showModal();
    findPlaces();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.matches("input:not([type=checkbox]), textarea, select")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (awaitsSection) {
    awaitsSection = false;
    document.querySelector(`.rail [data-key="${CSS.escape(event.key)}"]`)?.click();
    return;
  }
  if (event.key === "g") {
    awaitsSection = true;
    setTimeout(() => { awaitsSection = false; }, 1500);
    return;
  }
  const act = keys[event.key];
  if (act) {
    event.preventDefault();
    act();
  }
});

// The chosen card is the same after Back, and after a form that leads back to its page.
const placeKey = `place:${location.pathname}`;
addEventListener("pagehide", () => sessionStorage.setItem(placeKey, current()?.dataset.post ?? ""));
document.addEventListener("click", (event) => {
  const card = event.target.closest("main article[data-post] a")?.closest("article[data-post]");
  if (!card || card === current()) return;
  current()?.classList.remove("here");
  card.classList.add("here");
});
const isBack = performance.getEntriesByType("navigation")[0]?.type === "back_forward";
if (isBack || document.referrer.split("?")[0] === location.href.split("?")[0]) {
  posts().find((post) => post.dataset.post === sessionStorage.getItem(placeKey))?.classList.add("here");
}

// Menus close on Escape, on a press outside, and when another opens.
const closeMenus = (except) => document.querySelectorAll("details.drop[open]").forEach((menu) => { if (menu !== except) menu.open = false; });
document.addEventListener("click", (event) => closeMenus(event.target.closest("details.drop")));
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && document.querySelector("details.drop[open]");
  if (!menu) return;
  closeMenus();
  menu.querySelector("summary").focus();
});

// Copies go to the clipboard. Without one (plain http), the link leads to a page with the text.
function confirmInNotes(words) {
  const note = Object.assign(document.createElement("p"), { className: "notice ok", textContent: words });
  document.getElementById("notes")?.replaceChildren(note);
  setTimeout(() => note.remove(), 4000);
}
async function textToCopy({ dataset, href }) {
  if (dataset.copyFrom) return document.getElementById(dataset.copyFrom).value;
  if (dataset.copy || !href) return new URL(dataset.copy || location.href, location).href;
  const answer = await fetch(href, { headers: { "HX-Request": "true" } });
  if (!answer.ok) throw new Error(answer.status);
  return answer.text();
}
document.addEventListener("click", async (event) => {
  const item = event.target.closest("[data-copy], [data-copy-from], [data-print]");
  if (!item) return;
  const sheet = item.closest(".sheet");
  event.preventDefault();
  sheet.parentElement.open = false;
  if ("print" in item.dataset) return print();
  try {
    const text = textToCopy(item).then((words) => new Blob([words], { type: "text/plain" }));
    await navigator.clipboard.write([new ClipboardItem({ "text/plain": text })]);
    sheet.parentElement.querySelector("summary").focus();
    confirmInNotes(sheet.dataset.copied);
  } catch {
    if (item.href) location.assign(item.href);
    else document.querySelectorAll(".without-script").forEach((part) => part.classList.remove("without-script"));
  }
});

// A card that was replaced keeps its place under the keys.
let hereId = null;
document.addEventListener("htmx:before:swap", () => { hereId = current()?.id ?? null; });
document.addEventListener("htmx:after:swap", () => {
  if (!hereId) return;
  const card = document.getElementById(hereId);
  card?.classList.add("here");
  card?.focus({ preventScroll: true });
});

// Without a network, a server on this machine still answers.
const isOffline = () => !navigator.onLine && !/^(localhost|127\.|\[::1\])/.test(location.hostname);
function sayOffline() {
  const words = document.getElementById("offline");
  if (words) document.getElementById("notes")?.replaceChildren(words.content.cloneNode(true));
}

// A pressed button says that its work goes on, and says so until the answer or another page comes.
function endBusy() {
  for (const button of document.querySelectorAll("button[aria-busy]")) {
    button.removeAttribute("aria-busy");
    if (button.dataset.label) button.textContent = button.dataset.label;
  }
}
document.addEventListener("submit", (event) => {
  const button = event.submitter;
  if (isOffline()) {
    event.preventDefault();
    event.stopPropagation();
    sayOffline();
  } else if (button) {
    button.setAttribute("aria-busy", "true");
    if (!button.dataset.busy) return;
    button.dataset.label = button.textContent;
    button.textContent = button.dataset.busy;
  }
}, true);
document.addEventListener("htmx:finally:request", endBusy);
addEventListener("pageshow", endBusy);

// A request that did not reach the server is not silent.
document.addEventListener("htmx:error", sayOffline);
addEventListener("offline", () => isOffline() && sayOffline());
addEventListener("online", () => document.getElementById("notes")?.replaceChildren());

// A note about a request that could not be answered goes with the next request.
document.addEventListener("htmx:before:request", () => document.getElementById("notes")?.replaceChildren());

// The search box offers what could come next.
const box = document.getElementById("q");
const offers = document.getElementById("suggestions");
let typing = 0;
box?.addEventListener("input", () => {
  if (!offers) return;
  clearTimeout(typing);
  typing = setTimeout(async () => {
    const answer = await fetch(`${document.body.dataset.base}/search/suggest?q=${encodeURIComponent(box.value)}`, { headers: { "HX-Request": "true" } });
    if (answer.ok) offers.innerHTML = await answer.text();
  }, 150);
});

// One box checks all others of a name.
document.addEventListener("change", (event) => {
  const name = event.target.dataset?.checkAll;
  if (name) document.querySelectorAll(`input[type=checkbox][name="${CSS.escape(name)}"]`).forEach((one) => { one.checked = event.target.checked; });
});

// New posts are counted, never inserted. A hidden tab keeps no connection.
const live = document.querySelector("[data-live]");
let stream = null;
function listen() {
  if (!live || document.hidden || stream) return;
  stream = new EventSource(live.dataset.live);
  stream.addEventListener("new", (event) => {
    live.hidden = event.data === "";
    live.querySelector("a").textContent = event.data;
  });
  stream.addEventListener("over", () => { stream?.close(); location.reload(); });
  // A refused stream stays closed. The count can wait: it is asked for again in a minute, and the page says nothing.
  stream.addEventListener("error", () => {
    if (stream?.readyState !== EventSource.CLOSED) return;
    stream = null;
    setTimeout(listen, 60000);
  });
}
function stopListening() {
  stream?.close();
  stream = null;
}
document.addEventListener("visibilitychange", () => (document.hidden ? stopListening() : listen()));
addEventListener("pagehide", stopListening);
listen();

// An answer grows while a provider writes it. A connection that breaks is not opened again: that would ask again.
const growing = document.querySelector("[data-ask]");
if (growing) {
  const answers = new EventSource(growing.dataset.ask);
  answers.addEventListener("answer", (event) => { growing.innerHTML = event.data; });
  answers.addEventListener("end", (event) => {
    growing.innerHTML = event.data;
    answers.close();
  });
  answers.addEventListener("error", () => answers.close());
}

// The operator's numbers refresh by themselves. A hidden tab asks nothing.
const numbers = document.querySelector("[data-refresh]");
async function refresh() {
  if (document.hidden) return;
  let text = null;
  try {
    const answer = await fetch(numbers.dataset.refresh, { headers: { "HX-Request": "true" } });
    if (answer.status === 401) location.reload();
    if (answer.ok) text = await answer.text();
  } catch { /* said below */ }
  document.querySelector("[data-stale]").hidden = text !== null;
  if (text === null) return;
  // What the person has opened or closed stays so.
  const folds = Array.from(numbers.querySelectorAll("details[id]"), (fold) => [fold.id, fold.open]);
  await htmx.swap({ text, target: numbers, sourceElement: numbers, swap: "innerMorph" });
  for (const [id, open] of folds) document.getElementById(id)?.toggleAttribute("open", open);
}
if (numbers) {
  setInterval(refresh, 5000);
  document.addEventListener("visibilitychange", refresh);
}

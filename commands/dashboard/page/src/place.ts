// Where the user was on a view: Back returns to it. Each entry of the browser's history keeps the place of its view.
interface Place {
  main: number; // pixels that the view is scrolled
  rows: number; // and its list
  focus: string; // the address of the link that had the focus
}

// A list is read part by part: so long it is waited for.
const PATIENCE = 5000;

const scrolled = (selector: string) => document.querySelector(selector)?.scrollTop ?? 0;

function keep(): void {
  const focus = document.activeElement?.getAttribute("href") ?? "";
  const place: Place = { main: scrolled("main"), rows: scrolled(".rows"), focus };
  window.history.replaceState({ place }, "");
}

// Keeps the place before a link leaves the view.
export function watchPlaces(): void {
  document.addEventListener("click", (event) => {
    const link = (event.target as Element | null)?.closest?.("a[href^='#']");
    if (!link) return;
    (link as HTMLElement).focus({ preventScroll: true });
    keep();
  }, true);
}

function scrollTo(selector: string, top: number): boolean {
  const box = document.querySelector(selector);
  if (top === 0) return true;
  if (box === null) return false;
  box.scrollTop = top;
  return Math.abs(box.scrollTop - top) < 2;
}

// Returns to the place of this entry of the history as soon as the view has grown enough, unless the user scrolls
// first. The result ends it.
export function restorePlace(): () => void {
  const place = (window.history.state as { place?: Place } | null)?.place;
  if (place === undefined) return () => {};
  const until = Date.now() + PATIENCE;
  let frame = 0;
  const stop = () => {
    window.cancelAnimationFrame(frame);
    for (const event of MOVES) window.removeEventListener(event, stop);
  };
  const turn = () => {
    const there = scrollTo("main", place.main) && scrollTo(".rows", place.rows);
    const link = place.focus === "" ? null : document.querySelector<HTMLElement>("main a[href='" + CSS.escape(place.focus) + "']");
    if (there && link !== null) link.focus({ preventScroll: true });
    if ((there && (place.focus === "" || link !== null)) || Date.now() > until) return stop();
    frame = window.requestAnimationFrame(turn);
  };
  for (const event of MOVES) window.addEventListener(event, stop);
  turn();
  return stop;
}

const MOVES = ["wheel", "pointerdown", "keydown", "touchstart"];

// Small things that several views show.
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

import type { Live } from "./live";
import { clock, withTimes } from "./words";

// That muster is down, what is wrong with the connection, and what the answer does not know.
export function Notices({ live, alarm, notes }: { live: Live<unknown>; alarm?: string; notes?: string[] }) {
  return (
    <div role="status" aria-live="polite">
      {alarm !== undefined && <p class="notice bad alarm">{withTimes(alarm, Date.now())}.</p>}
      {live.error !== undefined && (
        <p class="notice bad">
          {live.error}
          {live.answer !== undefined && live.failedSince !== undefined && (
            <span> Shown is the state before {clock(live.failedSince)}. The page tries again.</span>
          )}
        </p>
      )}
      {(notes ?? []).map((note) => (
        <p class="notice" key={note}>{withTimes(note, Date.now())}</p>
      ))}
    </div>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

// The object that the view is about comes first: tabs, bookmarks and the browser's history have room for little more.
export function useTitle(object: string): void {
  useEffect(() => {
    document.title = object + " · muster";
  }, [object]);
}

// There is no such object, which is something else than one with nothing in it.
export function NotFound({ what, children }: { what: string; children: ComponentChildren }) {
  useTitle("Not found: " + what);
  return (
    <section class="not-found" role="status">
      <h1><small>404</small> Not found: {what}</h1>
      {children}
    </section>
  );
}

export function State({ state }: { state: string }) {
  return <span class={"state " + state.toLowerCase()}>{state}</span>;
}

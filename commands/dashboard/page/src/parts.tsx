// Small things that several views show.
import type { ComponentChildren } from "preact";

import type { Quota } from "./api";
import type { Live } from "./live";
import { amount, clock } from "./words";

// What is wrong with the connection, and what the answer does not know.
export function Notices({ live, notes }: { live: Live<unknown>; notes?: string[] }) {
  return (
    <div role="status" aria-live="polite">
      {live.error !== undefined && (
        <p class="notice bad">
          {live.error}
          {live.answer !== undefined && live.failedSince !== undefined && (
            <span> Shown is the state before {clock(live.failedSince)}. The page tries again.</span>
          )}
        </p>
      )}
      {(notes ?? []).map((note) => (
        <p class="notice" key={note}>{note}</p>
      ))}
    </div>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

export function State({ state }: { state: string }) {
  return <span class={"state " + state.toLowerCase()}>{state}</span>;
}

const percent = (part: number, whole: number) => Math.max(0, Math.min(100, whole > 0 ? (100 * part) / whole : 0));

export function Legend() {
  return (
    <p class="legend">
      <span class="key own" /> used of its own quota <span class="key borrowed" /> borrowed <span class="key mark" /> nominal quota
    </p>
  );
}

// One flavor of one resource: what is used of the queue's own quota, what is borrowed, where the nominal quota ends,
// and how far the queue could go. The text says the same for those who see no bar.
export function QuotaBar({ quota }: { quota: Quota }) {
  const used = amount(quota.used);
  const borrowed = amount(quota.borrowed);
  const nominal = amount(quota.nominal);
  const whole = Math.max(amount(quota.max), nominal, used);
  const says =
    quota.used + (nominal > 0 ? " of " + quota.nominal : "") + " used" +
    (borrowed > 0 ? ", " + quota.borrowed + " borrowed" : "") + ", " + quota.free + " free, at most " + quota.max;
  return (
    <div class="quota">
      <span class="what">{quota.resource}<small> {quota.flavor}</small></span>
      <svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label={quota.resource + " in " + quota.flavor + ": " + says}>
        <rect class="room" x="0" y="0" width="100" height="10" />
        <rect class="own" x="0" y="0" width={percent(used - borrowed, whole)} height="10" />
        <rect class="borrowed" x={percent(used - borrowed, whole)} y="0" width={percent(borrowed, whole)} height="10" />
        {nominal > 0 && nominal < whole && <rect class="mark" x={percent(nominal, whole) - 0.3} y="0" width="0.6" height="10" />}
      </svg>
      <span class="says">{says}</span>
    </div>
  );
}

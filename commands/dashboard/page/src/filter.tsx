// Which jobs a list shows. The filter is in the address, so that it can be kept and sent to others.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";

import { count } from "./words";

export interface Filter {
  search: string; // a part of a name or namespace
  states: string[]; // none: all
  queue: string; // a LocalQueue of the namespace; of all namespaces: a ClusterQueue
  labels: string; // a label selector
  submitter: string;
  sort: string; // "" is the order of the queue
  finished: boolean; // also those that finished in the last day
}

export const NO_FILTER: Filter = { search: "", states: [], queue: "", labels: "", submitter: "", sort: "", finished: false };

const OVER = ["Finished", "Failed"];
// In the order of a job's life.
const STATES = ["Pending", "QuotaReserved", "Admitted", "Running", "Evicted", "Inactive", ...OVER];

const SORTS: [string, string][] = [
  ["", "order of the queue"], ["-created", "newest first"], ["created", "oldest first"], ["name", "name"],
  ["-priority", "highest priority first"],
];

export function readFilter(values: URLSearchParams): Filter {
  const text = (name: string) => values.get(name) ?? "";
  return {
    search: text("search"),
    states: text("state").split(",").filter((state) => state !== ""),
    queue: text("queue"),
    labels: text("labels"),
    submitter: text("submitter"),
    sort: text("sort"),
    finished: text("finished") === "true",
  };
}

// For the address: what is set, in one order.
export function writeFilter(filter: Filter): string {
  const values = new URLSearchParams();
  const add = (name: string, value: string) => {
    if (value !== "") values.set(name, value);
  };
  add("search", filter.search);
  add("state", filter.states.join(","));
  add("queue", filter.queue);
  add("labels", filter.labels);
  add("submitter", filter.submitter);
  add("sort", filter.sort);
  add("finished", filter.finished ? "true" : "");
  const text = values.toString();
  return text === "" ? "" : "?" + text;
}

// The question to muster.
export function questionOf(namespace: string, filter: Filter): Record<string, string | undefined> {
  return {
    namespace,
    [namespace === "" ? "clusterQueue" : "queue"]: filter.queue.trim(),
    state: filter.states.join(","),
    labelSelector: filter.labels.trim(),
    search: filter.search.trim(),
    sortBy: filter.sort,
    submitter: filter.submitter.trim(),
    finished: filter.finished || filter.states.some((state) => OVER.includes(state)) ? "true" : undefined,
  };
}

// Whether fewer are shown than there are.
export function narrows(filter: Filter): boolean {
  return writeFilter({ ...filter, sort: "", finished: false }) !== "";
}

const PAUSE = 250; // of typing, before it is searched for

// A text that is typed: `set` is called when the user pauses, or presses Enter.
function Typed({ label, value, set, ...more }: { label: string; value: string; set: (value: string) => void; [attribute: string]: unknown }) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed === value) return;
    const timer = window.setTimeout(() => set(typed), PAUSE);
    return () => window.clearTimeout(timer);
  }, [typed, value]);
  return (
    <label>
      <span>{label}</span> <input {...more} value={typed} spellcheck={false} autocomplete="off" onInput={(event) => setTyped(event.currentTarget.value)} />
    </label>
  );
}

interface FilterProps {
  filter: Filter;
  set: (change: Partial<Filter>) => void;
}

export function Search({ filter, set }: FilterProps) {
  return <Typed label="Search" type="search" placeholder="a part of a name" value={filter.search} set={(search) => set({ search })} />;
}

export function Chips({ filter, set, counts }: FilterProps & { counts: Record<string, number> }) {
  const known = [...STATES, ...Object.keys(counts).filter((state) => !STATES.includes(state)).sort()];
  const shown = known.filter((state) => (counts[state] ?? 0) > 0 || filter.states.includes(state));
  const toggle = (state: string) =>
    set({ states: filter.states.includes(state) ? filter.states.filter((each) => each !== state) : [...filter.states, state] });
  return (
    <div class="chips" role="group" aria-label="States">
      <Chip pressed={filter.states.length === 0} press={() => set({ states: [] })}>
        All <b>{count(Object.values(counts).reduce((sum, each) => sum + each, 0))}</b>
      </Chip>
      {shown.map((state) => (
        <Chip key={state} of={state} pressed={filter.states.includes(state)} press={() => toggle(state)}>
          {state} <b>{count(counts[state] ?? 0)}</b>
        </Chip>
      ))}
      <label class="check">
        <input type="checkbox" checked={filter.finished} onChange={(event) => set({ finished: event.currentTarget.checked })} /> finished in the last day
      </label>
    </div>
  );
}

function Chip({ of = "", pressed, press, children }: { of?: string; pressed: boolean; press: () => void; children: ComponentChildren }) {
  return <button type="button" class={"chip " + of.toLowerCase()} aria-pressed={pressed} onClick={press}>{children}</button>;
}

// `queues`: names to choose from; others can be typed.
export function MoreFilters({ filter, set, queues, queueKind, withSubmitter }: FilterProps & { queues: string[]; queueKind: string; withSubmitter: boolean }) {
  const used = [filter.queue, filter.labels, filter.submitter, filter.sort].filter((value) => value !== "").length;
  const [open] = useState(used > 0 || !window.matchMedia("(max-width: 46rem)").matches);
  return (
    <details class="more" open={open}>
      <summary>Queue, labels, order{used > 0 ? " (" + used + " set)" : ""}</summary>
      <div class="filter">
        <Typed label={queueKind} list="queues" placeholder="all" value={filter.queue} set={(queue) => set({ queue })} />
        <datalist id="queues">{queues.map((name) => <option key={name} value={name} />)}</datalist>
        <Typed label="Labels" placeholder="team=vision,stage!=test" value={filter.labels} set={(labels) => set({ labels })} />
        {withSubmitter && <Typed label="Submitter" placeholder="all" value={filter.submitter} set={(submitter) => set({ submitter })} />}
        <label>
          <span>Order</span>{" "}
          <select value={filter.sort} onChange={(event) => set({ sort: event.currentTarget.value })}>
            {SORTS.map(([value, name]) => <option key={value} value={value}>{name}</option>)}
            {!SORTS.some(([value]) => value === filter.sort) && <option value={filter.sort}>{filter.sort}</option>}
          </select>
        </label>
      </div>
    </details>
  );
}

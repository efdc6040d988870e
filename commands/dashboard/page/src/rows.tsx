// Workloads in the order of the queue. Only the rows in sight are asked for and drawn, so that a list of 50,000 costs
// what one of 50 does. A row has a fixed height: an update never moves what somebody reads.
import { useEffect, useRef, useState } from "preact/hooks";

import { query, type List, type WorkloadItem } from "./api";
import { useLive } from "./live";
import { Empty, Notices, State } from "./parts";
import { eta, explainable, jobOf, position, span } from "./words";

const PART = 50; // rows that are asked for at once
const HEIGHT = 44; // pixels, as in style.css
const MARGIN = 10; // rows drawn beyond the edge

const TITLES: Record<string, string> = {
  Position: "in the LocalQueue / in the ClusterQueue",
  "Starts in": "an estimate, no promise: 8 of 10 start within the range",
};

export interface RowsFilter {
  namespace?: string;
  queue?: string;
  clusterQueue?: string;
}

export function WorkloadRows({ filter, empty }: { filter: RowsFilter; empty: string }) {
  const box = useRef<HTMLDivElement>(null);
  const [first, setFirst] = useState(0);
  const [shown, setShown] = useState(20);
  const offset = Math.floor(Math.max(0, first - MARGIN) / PART) * PART;
  // Three parts: whatever is in sight, also on a high screen, is in them.
  const live = useLive<List<WorkloadItem>>(query("workloads", { ...filter, limit: 3 * PART, offset }));
  const [last, setLast] = useState<{ list: List<WorkloadItem>; offset: number }>();
  useEffect(() => {
    if (live.answer !== undefined) setLast({ list: live.answer, offset });
  }, [live.answer]);

  const measure = () => {
    if (box.current === null) return;
    setFirst(Math.floor(box.current.scrollTop / HEIGHT));
    setShown(Math.ceil(box.current.clientHeight / HEIGHT));
  };
  useEffect(() => {
    measure();
    window.addEventListener("resize", measure);
    return () => window.removeEventListener("resize", measure);
  }, [last === undefined]);

  if (last === undefined) return <><Notices live={live} />{live.error === undefined && <Empty>Reading…</Empty>}</>;
  const { list } = last;
  const total = last.offset + list.items.length + (list.metadata.remaining ?? 0);
  const at = Date.parse(list.metadata.at);
  const rows = [];
  // A column only where something is known.
  const withEta = list.items.some((item) => eta(item.estimatedStart, at) !== "");
  const end = Math.min(total, first + shown + MARGIN);
  for (let row = Math.max(0, first - MARGIN); row < end; ++row) {
    const item = list.items[row - last.offset];
    if (item !== undefined) rows.push(<Row key={item.namespace + "/" + item.name} item={item} row={row} at={at} withEta={withEta} />);
  }
  return (
    <>
      <Notices live={live} notes={list.metadata.notes} />
      <p class="count">{total === 1 ? "1 Workload" : total.toLocaleString() + " Workloads"}</p>
      {total === 0 ? (
        <Empty>{empty}</Empty>
      ) : (
        <div class={withEta ? "list with-eta" : "list"} role="table" aria-rowcount={total + 1} aria-label="Workloads in the order of the queue">
          <div class="row head" role="row" aria-rowindex={1}>
            {["Job", "State", "Why", "Position", ...(withEta ? ["Starts in"] : []), "Since", "Flavors"].map((name) => (
              <span role="columnheader" key={name} title={TITLES[name]}>{name}</span>
            ))}
          </div>
          <div class="rows" ref={box} onScroll={measure} tabIndex={-1}>
            <div role="rowgroup" style={{ height: total * HEIGHT + "px" }}>{rows}</div>
          </div>
        </div>
      )}
    </>
  );
}

// Arrow keys go from row to row; Tab goes on behind the list.
function moveFocus(event: KeyboardEvent) {
  const row = (event.currentTarget as HTMLElement).closest("[role=row]");
  const to = event.key === "ArrowDown" ? row?.nextElementSibling : event.key === "ArrowUp" ? row?.previousElementSibling : undefined;
  const link = to?.querySelector("a");
  if (!link) return;
  event.preventDefault();
  link.focus();
}

function Row({ item, row, at, withEta }: { item: WorkloadItem; row: number; at: number; withEta: boolean }) {
  const job = jobOf(item);
  const target = explainable(item);
  return (
    <div class="row" role="row" aria-rowindex={row + 2} style={{ top: row * HEIGHT + "px" }}>
      <span role="cell" class="name">
        <a href={"#/job/" + item.namespace + "/" + target.kind + "/" + target.name} onKeyDown={moveFocus}>{job.kind}/{job.name}</a>
        <small>{item.namespace} · {item.localQueue}</small>
      </span>
      <span role="cell"><State state={item.state} /></span>
      <span role="cell" class="why">{item.reasonInWords}</span>
      <span role="cell" class="number">{position(item)}</span>
      {withEta && <span role="cell" class="number" title={item.estimatedStart?.basisInWords}>{eta(item.estimatedStart, at)}</span>}
      <span role="cell" class="number">{span(item.since, at)}</span>
      <span role="cell" class="flavors">{(item.flavors ?? []).join(", ")}</span>
    </div>
  );
}

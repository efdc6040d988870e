// Workloads as rows. Only the rows in sight are asked for and drawn, so that a list of 50,000 costs what one of 50 does.
// A row has a fixed height: an update never moves what the user reads.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { query, type List, type WorkloadItem } from "./api";
import { useLive } from "./live";
import { Empty, Notices, State } from "./parts";
import { count, eta, explainable, jobOf, linkOf, position, span, utc } from "./words";

const PART = 50; // rows that are asked for at once
const HEIGHT = 44; // pixels, as in style.css
const NARROW_HEIGHT = 96; // a name of up to two lines, and below it the rest
const NARROW = "(max-width: 46rem)";
const MARGIN = 10; // rows drawn beyond the edge

const TITLES: Record<string, string> = {
  Position: "in the LocalQueue / in the ClusterQueue",
  "Starts in": "an estimate, no promise: 8 of 10 start within the range",
};

function useRowHeight(): number {
  const [narrow] = useState(() => window.matchMedia(NARROW));
  const [matches, setMatches] = useState(narrow.matches);
  useEffect(() => {
    const changed = () => setMatches(narrow.matches);
    narrow.addEventListener("change", changed);
    return () => narrow.removeEventListener("change", changed);
  }, [narrow]);
  return matches ? NARROW_HEIGHT : HEIGHT;
}

export interface RowsProps {
  filter: Record<string, string | undefined>; // of the question
  empty: ComponentChildren;
  listed?: (list: List<WorkloadItem>) => void;
}

export function WorkloadRows({ filter, empty, listed }: RowsProps) {
  const box = useRef<HTMLDivElement>(null);
  const [first, setFirst] = useState(0);
  const [shown, setShown] = useState(20);
  const height = useRowHeight();
  const question = query("workloads", filter);
  const offset = Math.floor(Math.max(0, first - MARGIN) / PART) * PART;
  // Three parts: whatever is in sight, also on a high screen, is in them.
  const live = useLive<List<WorkloadItem>>(query("workloads", { ...filter, limit: 3 * PART, offset }));
  const [last, setLast] = useState<{ list: List<WorkloadItem>; offset: number; question: string }>();
  useEffect(() => {
    if (live.answer === undefined) return;
    setLast({ list: live.answer, offset, question });
    listed?.(live.answer);
  }, [live.answer]);

  const measure = () => {
    if (box.current === null) return;
    setFirst(Math.floor(box.current.scrollTop / height));
    setShown(Math.ceil(box.current.clientHeight / height));
  };
  useEffect(() => {
    measure();
    window.addEventListener("resize", measure);
    return () => window.removeEventListener("resize", measure);
  }, [last === undefined, height]);
  // Another filter has other rows: they are seen from the first one.
  useEffect(() => {
    if (last !== undefined && box.current !== null) box.current.scrollTop = 0;
  }, [question]);

  const total = last === undefined ? 0 : last.offset + last.list.items.length + (last.list.metadata.remaining ?? 0);
  const focus = useRowFocus(box, total, height);
  const isOther = last?.question !== question;
  // Rows of another filter are not shown as if they were the answer.
  if (last === undefined || (isOther && live.error !== undefined)) {
    return <><Notices live={live} />{live.error === undefined && <Empty>Reading…</Empty>}</>;
  }
  const { list } = last;
  const at = Date.parse(list.metadata.at);
  const rows = [];
  // A column only where something is known.
  const withEta = list.items.some((item) => eta(item.estimatedStart, at) !== "");
  const end = Math.min(total, first + shown + MARGIN);
  for (let row = Math.max(0, first - MARGIN); row < end; ++row) {
    const item = list.items[row - last.offset];
    if (item !== undefined) rows.push(<Row key={item.namespace + "/" + item.name} item={item} top={row * height} row={row} at={at} withEta={withEta} />);
  }
  return (
    <>
      <Notices live={live} alarm={list.metadata.alarm} notes={list.metadata.notes} />
      <p class="count" role="status">{total === 0 ? "" : total === 1 ? "1 Workload" : count(total) + " Workloads"}</p>
      {total === 0 ? (
        empty
      ) : (
        <div class={(withEta ? "list with-eta" : "list") + (isOther ? " old" : "")} role="table" aria-rowcount={total + 1} aria-label="Workloads">
          <div class="row head" role="row" aria-rowindex={1}>
            {["Job", "State", "Why", "Position", ...(withEta ? ["Starts in"] : []), "Since", "Flavors"].map((name) => (
              <span role="columnheader" key={name} title={TITLES[name]}>{name}</span>
            ))}
          </div>
          <div class="rows" ref={box} onScroll={measure} onKeyDown={focus.press} onFocusIn={focus.entered} tabIndex={-1}>
            <div role="rowgroup" style={{ height: total * height + "px" }}>{rows}</div>
          </div>
        </div>
      )}
    </>
  );
}

// Arrow keys, Page Up, Page Down, Home and End go from row to row; Tab goes on behind the list. Rows that are scrolled
// away are taken out of the page, and with them the focus. So the list itself holds it until the row that is wanted is
// drawn.
function useRowFocus(box: { current: HTMLDivElement | null }, total: number, height: number) {
  const wanted = useRef<number | undefined>(undefined); // an index, until its row has the focus
  const held = useRef<string | undefined>(undefined); // the address of the row that has it
  const linkOfRow = (row: number) => box.current?.querySelector<HTMLElement>("[aria-rowindex='" + (row + 2) + "'] a");

  useLayoutEffect(() => {
    const link = wanted.current === undefined ? undefined : linkOfRow(wanted.current);
    if (link) {
      wanted.current = undefined;
      link.focus({ preventScroll: true });
    } else if (held.current !== undefined && document.activeElement === document.body) {
      // An update has moved the row, or taken it away.
      const same = box.current?.querySelector<HTMLElement>("a[href='" + CSS.escape(held.current) + "']");
      (same ?? box.current)?.focus({ preventScroll: true });
    }
  });
  useEffect(() => {
    // A click beside the list gives the focus away.
    const left = () => {
      if (!box.current?.contains(document.activeElement)) held.current = undefined;
    };
    document.addEventListener("pointerup", left);
    document.addEventListener("focusin", left);
    return () => {
      document.removeEventListener("pointerup", left);
      document.removeEventListener("focusin", left);
    };
  }, []);

  const entered = (event: FocusEvent) => {
    const address = (event.target as Element).getAttribute("href");
    if (address !== null) held.current = address;
  };
  const press = (event: KeyboardEvent) => {
    const list = box.current;
    if (list === null || event.ctrlKey || event.altKey || event.metaKey) return;
    const index = document.activeElement?.closest("[aria-rowindex]")?.getAttribute("aria-rowindex");
    const now = wanted.current ?? (index ? Number(index) - 2 : Math.floor(list.scrollTop / height));
    const page = Math.max(1, Math.floor(list.clientHeight / height) - 1);
    const to: Record<string, number> = {
      ArrowDown: now + 1, ArrowUp: now - 1, PageDown: now + page, PageUp: now - page, Home: 0, End: total - 1,
    };
    const asked = to[event.key];
    if (asked === undefined) return;
    event.preventDefault();
    const row = Math.max(0, Math.min(total - 1, asked));
    const top = row * height;
    if (top < list.scrollTop) list.scrollTop = top;
    if (top + height > list.scrollTop + list.clientHeight) list.scrollTop = top + height - list.clientHeight;
    const link = linkOfRow(row);
    if (link) {
      wanted.current = undefined;
      link.focus({ preventScroll: true });
    } else {
      wanted.current = row;
      list.focus({ preventScroll: true });
    }
  };
  return { press, entered };
}

function about(item: WorkloadItem): string {
  return [
    item.namespace, item.localQueue,
    ...(item.priority === 0 ? [] : ["priority " + item.priority]),
    ...(item.submitter === undefined ? [] : ["by " + item.submitter]),
  ].join(" · ");
}

function Row({ item, row, top, at, withEta }: { item: WorkloadItem; row: number; top: number; at: number; withEta: boolean }) {
  const job = jobOf(item);
  const labels = Object.entries(item.labels ?? {}).map(([name, value]) => name + "=" + value).join(", ");
  const since = item.finishedAt ?? item.since;
  return (
    <div class="row" role="row" aria-rowindex={row + 2} style={{ top: top + "px" }}>
      <span role="cell" class="name" title={job.name + (labels === "" ? "" : ": " + labels)}>
        <a href={linkOf(item.namespace, explainable(item))}>{job.kind}/{job.name}</a>
        <small>{about(item)}</small>
      </span>
      <span role="cell" class="of-state"><State state={item.state} /></span>
      <span role="cell" class="why">{item.reasonInWords}</span>
      <span role="cell" class="number position">{position(item)}</span>
      {withEta && <span role="cell" class="number starts" title={item.estimatedStart?.basisInWords}>{eta(item.estimatedStart, at)}</span>}
      <span role="cell" class="number since" title={since ? utc(since) : undefined}>{span(since, at)}</span>
      <span role="cell" class="flavors">{(item.flavors ?? []).join(", ")}</span>
    </div>
  );
}

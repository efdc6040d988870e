// Quota as bars. An empty part is free, always: what others use is hatched. The text beside a bar says the same for those
// who see no bar.
import type { ComponentChildren } from "preact";

import type { Explained, Quota } from "./api";
import { amount, readable } from "./words";

interface Part {
  name: "own" | "lent" | "free" | "borrowed" | "others" | "asked" | "lacking";
  size: number;
}

// `mark`: where the nominal quota ends.
function Bar({ parts, whole, mark, label }: { parts: Part[][]; whole: number; mark?: number; label: string }) {
  const percent = (size: number) => Math.max(0, Math.min(100, whole > 0 ? (100 * size) / whole : 0)) + "%";
  return (
    <div class="bar" role="img" aria-label={label}>
      {parts.map((line, i) => (
        <div class="line-of-bar" key={i}>
          {line.map((part) => part.size > 0 && <i key={part.name} class={"part " + part.name} style={{ width: percent(part.size) }} />)}
        </div>
      ))}
      {mark !== undefined && mark > 0 && mark < whole && <i class="mark" style={{ left: percent(mark) }} />}
    </div>
  );
}

export function Legend() {
  return (
    <p class="legend">
      <Key of="own">used of its own quota</Key> <Key of="lent">lent: others use it</Key> <Key of="borrowed">borrowed</Key>{" "}
      <Key of="others">used by others in the cohort</Key> <Key of="free">free</Key> <Key of="mark">end of its own (nominal) quota</Key>
    </p>
  );
}

function Key({ of, children }: { of: string; children: string }) {
  return <span class="keyed"><i class={"key part " + of} />{children}</span>;
}

// Which queues use what a queue can reach. Quota that it has lent is not free; what it can still borrow is free.
export function partsOf(quota: Quota) {
  const used = amount(quota.used), nominal = amount(quota.nominal);
  const borrowed = Math.min(amount(quota.borrowed), used);
  const whole = Math.max(amount(quota.max), nominal, used);
  const own = used - borrowed;
  const free = Math.max(0, Math.min(amount(quota.free), whole - used));
  const idle = Math.max(0, nominal - own);
  const freeOfOwn = Math.min(free, idle);
  const lent = idle - freeOfOwn;
  const others = Math.max(0, whole - own - idle - borrowed - (free - freeOfOwn));
  return { whole, nominal, own, lent, freeOfOwn, borrowed, others, free };
}

export function QuotaBar({ quota }: { quota: Quota }) {
  const { whole, nominal, own, lent, freeOfOwn, borrowed, others, free } = partsOf(quota);
  const said = (size: number) => readable(quota.resource, size);
  const says = [
    said(own) + (nominal > 0 ? " of " + said(nominal) : "") + " used",
    ...(lent > 0 ? [said(lent) + " lent"] : []),
    ...(borrowed > 0 ? [said(borrowed) + " borrowed"] : []),
    ...(others > 0 ? [said(others) + " used by others"] : []),
    said(free) + " free",
    ...(whole > nominal ? ["at most " + said(whole)] : []),
  ].join(", ");
  const parts: Part[] = [
    { name: "own", size: own }, { name: "lent", size: lent }, { name: "free", size: freeOfOwn },
    { name: "borrowed", size: borrowed }, { name: "others", size: others },
  ];
  return <Row resource={quota.resource} flavor={quota.flavor} says={says} bar={<Bar parts={[parts]} whole={whole} mark={nominal} label={quota.resource + " in " + quota.flavor + ": " + says} />} />;
}

// Of a Cohort: the quota of its whole tree, which has no nominal quota that could be lent.
export function CohortBar({ quota }: { quota: Quota }) {
  const used = amount(quota.used), whole = Math.max(amount(quota.max), used);
  const says = readable(quota.resource, used) + " of " + readable(quota.resource, whole) + " used, " + readable(quota.resource, quota.free) + " free";
  return <Row resource={quota.resource} flavor={quota.flavor} says={says} bar={<Bar parts={[[{ name: "own", size: used }]]} whole={whole} label={quota.resource + " in " + quota.flavor + ": " + says} />} />;
}

function Row({ resource, flavor, bar, says }: { resource: string; flavor: string; bar: ComponentChildren; says: string }) {
  return (
    <div class="quota">
      <span class="what">{resource}<small> {flavor}</small></span>
      {bar}
      <span class="says">{says}</span>
    </div>
  );
}

type FlavorRow = Explained["flavors"][number];

export const lacks = (row: FlavorRow) => amount(row.requested) > amount(row.free);

// Where quota lacks, the numbers before it say the same.
function verdict(text: string): string {
  return text === "" || text.startsWith("asks for ") ? "" : ": " + text;
}

// What a job asks for, below what its queue can use: the first line is empty where quota is free.
export function JobBars({ rows }: { rows: FlavorRow[] }) {
  return (
    <section>
      <h2>Quota</h2>
      <p class="legend">
        <span>Upper half: </span><Key of="free">free for this queue</Key> <Key of="others">in use</Key>
        <span class="keyed">Lower half: </span><Key of="asked">asked for, is free</Key> <Key of="lacking">asked for, is missing</Key>{" "}
        <Key of="mark">nominal quota</Key>
      </p>
      {rows.map((row) => {
        const asked = amount(row.requested), free = Math.max(0, amount(row.free));
        const whole = Math.max(amount(row.most), asked, amount(row.nominal));
        // Two figures that differ are never printed alike.
        const alike = asked !== free && readable(row.resource, row.requested) === readable(row.resource, row.free);
        const said = (quantity: string) => (alike ? quantity : readable(row.resource, quantity));
        const says = "asks for " + said(row.requested) + ", " + said(row.free) + " free, nominal " + said(row.nominal) + ", at most " + said(row.most);
        return (
          <div class="quota job-bar" key={row.podSet + row.resource + row.flavor}>
            <span class="what">{row.resource}<small> {row.flavor || "no flavor"}{row.podSet === "" ? "" : " · " + row.podSet}</small></span>
            <Bar
              whole={whole}
              mark={amount(row.nominal)}
              label={row.resource + ": " + says}
              parts={[
                [{ name: "free", size: free }, { name: "others", size: Math.max(0, amount(row.most) - free) }],
                [{ name: "asked", size: Math.min(asked, free) }, { name: "lacking", size: Math.max(0, asked - free) }],
              ]}
            />
            <span class="says">{says}{verdict(row.verdict)}</span>
          </div>
        );
      })}
    </section>
  );
}

// The last day of a ClusterQueue as lines: what waited, what was used.
import { query, type Quota, type UsageHistory } from "./api";
import { useLive } from "./live";
import { amount, clock, readable } from "./words";

// A sample is taken every five minutes.
const BETWEEN_LOOKS = 60000;

export function History({ queue, quotas }: { queue: string; quotas: Quota[] }) {
  const live = useLive<UsageHistory>(query("usage", { clusterQueue: queue }), BETWEEN_LOOKS);
  const history = live.answer;
  if (history === undefined) {
    return live.error === undefined ? null : <p class="empty">No history: {live.error}</p>;
  }
  return (
    <section class="history">
      <h2>History: the last {hours(history)}</h2>
      <Line name="pending" values={history.pending} texts={history.pending.map(String)} times={history.times} />
      {history.resources.map((row) => {
        const quota = quotas.find((each) => each.flavor === row.flavor && each.resource === row.resource);
        return (
          <Line
            key={row.flavor + row.resource}
            name={row.resource + " " + row.flavor}
            values={row.used.map(amount)}
            texts={row.used.map((used) => readable(row.resource, used))}
            times={history.times}
            mark={quota === undefined ? undefined : amount(quota.nominal)}
          />
        );
      })}
    </section>
  );
}

function hours(history: UsageHistory): string {
  const minutes = Math.round((history.times.length * history.metadata.intervalSeconds) / 60);
  return minutes < 120 ? minutes + " minutes" : Math.round(minutes / 60) + " hours";
}

// A step for each sample: between two samples nothing is known.
function Line({ name, values, texts, times, mark }: { name: string; values: number[]; texts: string[]; times: string[]; mark?: number }) {
  const most = Math.max(...values, mark ?? 0, 1e-9);
  const width = 100 / Math.max(values.length, 1);
  const height = (value: number) => 30 - (28 * value) / most;
  const path = values.map((value, i) => (i === 0 ? "M0 " : "V") + height(value) + "H" + (i + 1) * width).join("");
  const last = texts[texts.length - 1] ?? "0";
  const peak = texts[values.indexOf(Math.max(...values))] ?? "0";
  const since = times[0] === undefined ? "" : " since " + clock(Date.parse(times[0]));
  return (
    <div class="quota">
      <span class="what">{name}</span>
      <svg class="line" viewBox="0 0 100 30" preserveAspectRatio="none" role="img" aria-label={name + ": now " + last + ", at most " + peak + since}>
        {mark !== undefined && mark > 0 && <path class="nominal" d={"M0 " + height(mark) + "H100"} />}
        <path class="used" d={path} />
      </svg>
      <span class="says">now {last}, at most {peak}{since}</span>
    </div>
  );
}

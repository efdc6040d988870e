// Cohorts and ClusterQueues as a tree, with a bar for each flavor and resource, and the list of one queue.
import type { ClusterQueueItem, CohortItem, List } from "./api";
import { History } from "./history";
import { useLive } from "./live";
import { Empty, Legend, Notices, QuotaBar, State } from "./parts";
import { WorkloadRows } from "./rows";
import { span } from "./words";

export function QuotaTree() {
  const queues = useLive<List<ClusterQueueItem>>("clusterqueues");
  const cohorts = useLive<List<CohortItem>>("cohorts");
  const list = queues.answer;
  return (
    <main>
      <Notices live={queues.error === undefined ? cohorts : queues} notes={list?.metadata.notes} />
      {list === undefined ? (
        queues.error === undefined && <Empty>Reading…</Empty>
      ) : (
        <>
          <Totals queues={list.items} />
          <Legend />
          <Tree queues={list.items} cohorts={cohorts.answer?.items ?? []} at={Date.parse(list.metadata.at)} />
        </>
      )}
    </main>
  );
}

function Totals({ queues }: { queues: ClusterQueueItem[] }) {
  const pending = queues.reduce((sum, queue) => sum + queue.pending, 0);
  const holding = queues.reduce((sum, queue) => sum + queue.reserving, 0);
  const broken = queues.filter((queue) => queue.state !== "Active").length;
  return (
    <p class="totals">
      <b>{queues.length}</b> ClusterQueues, <b>{holding.toLocaleString()}</b> Workloads with quota, <b>{pending.toLocaleString()}</b> pending
      {broken > 0 && <span class="bad">, <b>{broken}</b> not active</span>}
    </p>
  );
}

function Tree({ queues, cohorts, at }: { queues: ClusterQueueItem[]; cohorts: CohortItem[]; at: number }) {
  const known = new Set(cohorts.map((cohort) => cohort.name));
  const roots = cohorts.filter((cohort) => !known.has(cohort.parent));
  const alone = queues.filter((queue) => !known.has(queue.cohort));
  if (queues.length === 0) return <Empty>There is no ClusterQueue.</Empty>;
  return (
    <>
      {roots.map((root) => <Cohort key={root.name} cohort={root} cohorts={cohorts} queues={queues} at={at} depth={0} />)}
      {alone.map((queue) => <Queue key={queue.name} queue={queue} at={at} />)}
    </>
  );
}

// Deeper trees are cut: a cycle of Cohorts, which nobody rejects, must not hang the page.
const DEEPEST = 20;

function Cohort({ cohort, cohorts, queues, at, depth }: { cohort: CohortItem; cohorts: CohortItem[]; queues: ClusterQueueItem[]; at: number; depth: number }) {
  if (depth > DEEPEST) return null;
  return (
    <section class="cohort">
      <h2>Cohort {cohort.name}</h2>
      {cohort.quotas.map((quota) => <QuotaBar key={quota.flavor + quota.resource} quota={quota} />)}
      {queues.filter((queue) => queue.cohort === cohort.name).map((queue) => <Queue key={queue.name} queue={queue} at={at} />)}
      {cohorts.filter((child) => child.parent === cohort.name).map((child) => (
        <Cohort key={child.name} cohort={child} cohorts={cohorts} queues={queues} at={at} depth={depth + 1} />
      ))}
    </section>
  );
}

function Queue({ queue, at }: { queue: ClusterQueueItem; at: number }) {
  return (
    <article class="queue">
      <h3>
        <a href={"#/queue/" + queue.name}>{queue.name}</a> <State state={queue.state} />
        <small>
          {queue.reserving.toLocaleString()} with quota, {queue.pending.toLocaleString()} pending
          {queue.oldestPendingSince !== null && ", the longest for " + span(queue.oldestPendingSince, at)}
        </small>
      </h3>
      {queue.state !== "Active" && <p class="notice bad">{queue.message || queue.reasonInWords || queue.reason}</p>}
      {queue.quotas.map((quota) => <QuotaBar key={quota.flavor + quota.resource} quota={quota} />)}
    </article>
  );
}

export function QueueList({ name }: { name: string }) {
  const live = useLive<List<ClusterQueueItem>>("clusterqueues");
  const queue = live.answer?.items.find((item) => item.name === name);
  return (
    <main>
      <h1>{name} <small>ClusterQueue</small></h1>
      {queue !== undefined && (
        <>
          <Queue queue={queue} at={Date.parse(live.answer?.metadata.at ?? "")} />
          <History queue={name} quotas={queue.quotas} />
        </>
      )}
      <WorkloadRows key={name} filter={{ clusterQueue: name }} empty="Nothing is in this queue." />
    </main>
  );
}

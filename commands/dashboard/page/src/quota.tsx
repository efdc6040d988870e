// Cohorts and ClusterQueues as a tree, with a bar for each flavor and resource, and the list of one queue.
import { Component } from "preact";
import { useEffect, useState } from "preact/hooks";

import type { ClusterQueueItem, CohortItem, List } from "./api";
import { CohortBar, Legend, QuotaBar } from "./bars";
import { History } from "./history";
import { useLive } from "./live";
import { Empty, NotFound, Notices, State, useTitle } from "./parts";
import { WorkloadRows } from "./rows";
import { count, span, withTimes } from "./words";

export function QuotaTree() {
  useTitle("Quota");
  const queues = useLive<List<ClusterQueueItem>>("clusterqueues");
  const cohorts = useLive<List<CohortItem>>("cohorts");
  const list = queues.answer;
  return (
    <main>
      <h1>Quota</h1>
      <Notices live={queues.error === undefined ? cohorts : queues} alarm={list?.metadata.alarm} notes={list?.metadata.notes} />
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
      <b>{count(queues.length)}</b> {queues.length === 1 ? "ClusterQueue" : "ClusterQueues"}, <b>{count(holding)}</b> {holding === 1 ? "Workload" : "Workloads"} with quota, <b>{count(pending)}</b> pending
      {broken > 0 && <span class="bad">, <b>{broken}</b> not active</span>}
    </p>
  );
}

// The first part of a long list, small enough to be drawn at once; each further picture draws more.
function useGrowing(total: number, step: number): number {
  const [shown, setShown] = useState(step);
  useEffect(() => {
    if (shown >= total) return;
    const timer = window.setTimeout(() => setShown(shown + step));
    return () => window.clearTimeout(timer);
  }, [shown, total, step]);
  return shown;
}

function Tree({ queues, cohorts, at }: { queues: ClusterQueueItem[]; cohorts: CohortItem[]; at: number }) {
  const known = new Set(cohorts.map((cohort) => cohort.name));
  const roots = cohorts.filter((cohort) => !known.has(cohort.parent));
  const alone = queues.filter((queue) => !known.has(queue.cohort));
  const tree = { queues: groups(queues, (queue) => queue.cohort), cohorts: groups(cohorts, (cohort) => cohort.parent), at };
  const shownRoots = useGrowing(roots.length, 4);
  const shownAlone = useGrowing(alone.length, 40);
  if (queues.length === 0) return <Empty>There is no ClusterQueue.</Empty>;
  return (
    <>
      {roots.slice(0, shownRoots).map((root) => <Cohort key={root.name} cohort={root} tree={tree} depth={0} />)}
      {alone.slice(0, shownAlone).map((queue) => <Queue key={queue.name} queue={queue} at={at} />)}
    </>
  );
}

// By their Cohort: 1,000 queues in 100 Cohorts are gone through once.
function groups<Item>(items: Item[], cohort: (item: Item) => string): Map<string, Item[]> {
  const found = new Map<string, Item[]>();
  for (const item of items) {
    const group = found.get(cohort(item));
    if (group === undefined) found.set(cohort(item), [item]);
    else group.push(item);
  }
  return found;
}

interface TreeParts {
  queues: Map<string, ClusterQueueItem[]>;
  cohorts: Map<string, CohortItem[]>;
  at: number;
}

// Deeper trees are cut: a cycle of Cohorts, which no webhook rejects, must not hang the page.
const DEEPEST = 20;

function Cohort({ cohort, tree, depth }: { cohort: CohortItem; tree: TreeParts; depth: number }) {
  if (depth > DEEPEST) return null;
  return (
    <section class="cohort">
      <h2>Cohort {cohort.name}</h2>
      {cohort.quotas.map((quota) => <CohortBar key={quota.flavor + quota.resource} quota={quota} />)}
      {(tree.queues.get(cohort.name) ?? []).map((queue) => <Queue key={queue.name} queue={queue} at={tree.at} />)}
      {(tree.cohorts.get(cohort.name) ?? []).map((child) => <Cohort key={child.name} cohort={child} tree={tree} depth={depth + 1} />)}
    </section>
  );
}

interface QueueProps {
  queue: ClusterQueueItem;
  at: number;
}

const longest = ({ queue, at }: QueueProps) => (queue.oldestPendingSince === null ? "" : span(queue.oldestPendingSince, at));

// Drawn again when something of it has changed: of 1,000 queues that is true of few.
class Queue extends Component<QueueProps> {
  override shouldComponentUpdate(next: QueueProps) {
    return longest(next) !== longest(this.props) || JSON.stringify(next.queue) !== JSON.stringify(this.props.queue);
  }

  override render() {
    return <QueueCard {...this.props} />;
  }
}

function QueueCard(props: QueueProps) {
  const { queue } = props;
  return (
    <article class="queue">
      <h3>
        <a href={"#/queue/" + encodeURIComponent(queue.name)}>{queue.name}</a> <State state={queue.state} />
        <small>
          {count(queue.reserving)} with quota, {count(queue.pending)} pending
          {queue.oldestPendingSince !== null && ", the longest for " + longest(props)}
        </small>
      </h3>
      {queue.state !== "Active" && <p class="notice bad">{withTimes(queue.message || queue.reasonInWords || queue.reason || "", props.at)}</p>}
      {queue.quotas.map((quota) => <QuotaBar key={quota.flavor + quota.resource} quota={quota} />)}
    </article>
  );
}

export function QueueList({ name }: { name: string }) {
  const live = useLive<List<ClusterQueueItem>>("clusterqueues");
  const queue = live.answer?.items.find((item) => item.name === name);
  useTitle(name + " · ClusterQueue");
  if (live.answer !== undefined && queue === undefined) {
    return (
      <main>
        <NotFound what={"ClusterQueue " + name}>
          <p>muster knows no ClusterQueue with this name: it was deleted, or the name is not correct. <a href="#/quota">All ClusterQueues</a></p>
        </NotFound>
      </main>
    );
  }
  return (
    <main>
      <h1>{name} <small>ClusterQueue</small></h1>
      {queue !== undefined && (
        <>
          <Legend />
          <Queue queue={queue} at={Date.parse(live.answer?.metadata.at ?? "")} />
          <History queue={name} quotas={queue.quotas} />
        </>
      )}
      <WorkloadRows key={name} filter={{ clusterQueue: name }} empty="Nothing is in this queue." />
    </main>
  );
}

// The jobs of a namespace, or of all that this person can list.
import { useState } from "preact/hooks";

import { query, type List, type WorkloadItem } from "./api";
import { Chips, MoreFilters, narrows, NO_FILTER, questionOf, Search, writeFilter, type Filter } from "./filter";
import { useLive } from "./live";
import { Empty, NotFound, useTitle } from "./parts";
import { WorkloadRows } from "./rows";

const BETWEEN_LOOKS_AT_QUEUES = 30000;

export function Jobs({ namespace, first }: { namespace: string; first: Filter }) {
  const [filter, setFilter] = useState(first);
  const [list, setList] = useState<List<WorkloadItem>>();
  const queues = useLive<List<{ name: string }>>(namespace === "" ? "clusterqueues" : query("localqueues", { namespace }), BETWEEN_LOOKS_AT_QUEUES);
  const where = namespace === "" ? "all namespaces" : namespace;
  useTitle("Jobs · " + where);
  // The entry of the history stays the same one: Back leaves the list, and does not take back letters.
  const set = (change: Partial<Filter>) => {
    const next = { ...filter, ...change };
    setFilter(next);
    window.history.replaceState(window.history.state, "", "#/jobs/" + (encodeURIComponent(namespace) || "*") + writeFilter(next));
  };
  const counts = list?.metadata.counts;
  // Who lists Workloads and LocalQueues there, and finds neither, has typed another name than the one that was meant.
  const unknown = namespace !== "" && !narrows(filter) && list?.items.length === 0 && (list.metadata.remaining ?? 0) === 0 && queues.answer?.items.length === 0;
  // An older muster knows no filter.
  const canFilter = !unknown && (list === undefined || counts !== undefined || narrows(filter));
  const withSubmitter = filter.submitter !== "" || list?.metadata.recordsSubmitters === true;
  return (
    <main>
      {!unknown && <h1 class="quiet">Jobs <small>{where}</small></h1>}
      <div class="filter">
        <Namespace namespace={namespace} />
        {canFilter && <Search filter={filter} set={set} />}
      </div>
      {canFilter && <Chips filter={filter} set={set} counts={counts ?? {}} />}
      {canFilter && (
        <MoreFilters
          filter={filter}
          set={set}
          queues={(queues.answer?.items ?? []).map((item) => item.name)}
          queueKind={namespace === "" ? "ClusterQueue" : "LocalQueue"}
          withSubmitter={withSubmitter}
        />
      )}
      <WorkloadRows
        filter={questionOf(namespace, filter)}
        listed={setList}
        empty={
          unknown ? (
            <NotFound what={"namespace " + namespace}>
              <p>It does not exist, or it has no LocalQueue: no job can be queued there. <a href="#/jobs/*">Jobs of all namespaces</a></p>
            </NotFound>
          ) : narrows(filter) ? (
            <Empty>No job matches. <button onClick={() => set({ ...NO_FILTER, sort: filter.sort })}>Show all jobs</button></Empty>
          ) : (
            <Empty>{namespace === "" ? "Nothing is queued." : "Nothing is queued in namespace " + namespace + "."}</Empty>
          )
        }
      />
    </main>
  );
}

function Namespace({ namespace }: { namespace: string }) {
  const [typed, setTyped] = useState(namespace);
  const go = (event: Event) => {
    event.preventDefault();
    window.location.hash = "#/jobs/" + (encodeURIComponent(typed.trim()) || "*");
  };
  return (
    <form class="filter" onSubmit={go}>
      <label>
        <span>Namespace</span> <input value={typed} placeholder="all" spellcheck={false} onInput={(event) => setTyped(event.currentTarget.value)} />
      </label>
      <button>Show</button>
      {namespace !== "" && <a href="#/jobs/*">All namespaces</a>}
    </form>
  );
}

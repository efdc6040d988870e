// What the page asks muster dashboard for. Paths are relative: they stand behind the random token of the address.
import { setAskedKinds } from "./words";

export interface JobReference {
  apiVersion: string;
  kind: string;
  name: string;
}

// When it is expected to start; an estimate, made by muster.
export interface StartEstimate {
  outcome: string; // "Range", "NotBefore", "BeyondHorizon", and others without times
  earliest?: string;
  latest?: string;
  basisInWords?: string;
}

export interface WorkloadItem {
  namespace: string;
  name: string;
  localQueue: string;
  clusterQueue?: string;
  state: string;
  reason: string;
  reasonInWords: string;
  since: string | null;
  created: string | null;
  priority: number;
  priorityClass?: string;
  job?: JobReference;
  positionInClusterQueue?: number;
  positionInLocalQueue?: number;
  estimatedStart?: StartEstimate;
  flavors?: string[];
  usage?: Record<string, string>;
  labels?: Record<string, string>; // those of the job that muster keeps
  submitter?: string;
  finishedAt?: string | null;
}

export interface Quota {
  flavor: string;
  resource: string;
  nominal: string;
  used: string;
  borrowed: string;
  free: string;
  max: string;
  borrowingLimit?: string;
}

export interface ClusterQueueItem {
  name: string;
  cohort: string;
  strategy: string;
  state: string;
  reason?: string;
  reasonInWords?: string;
  message?: string;
  pending: number;
  reserving: number;
  oldestPendingSince: string | null;
  quotas: Quota[];
}

export interface CohortItem {
  name: string;
  parent: string;
  clusterQueues: string[];
  quotas: Quota[];
}

export interface HolderItem {
  namespace: string;
  name: string;
  clusterQueue: string;
  flavor: string;
  amount: string;
  state: string;
  since: string | null;
  untilAtMost: string | null;
  job?: JobReference;
}

export interface List<Item> {
  metadata: {
    at: string;
    leads: boolean;
    remaining?: number;
    // By state, of all that the other filters match. An older muster has none, and knows no filter either.
    counts?: Record<string, number>;
    recordsSubmitters?: boolean;
    notes?: string[];
    alarm?: string; // muster is down, or no replica leads
    hidden?: { count: number; amount: string };
  };
  items: Item[];
}

// What has happened to a job.
export interface Moment {
  time: string;
  what: string;
  by?: { namespace: string; name: string }; // the Workload that it made room for
  fromConditions?: boolean; // of a time before muster kept a history
}

export interface Explained {
  object: { kind: string; namespace: string; name: string };
  found: boolean;
  at?: string | null;
  reason: string;
  headline: string;
  because: string[];
  wouldChange: string[];
  // Absent in answers of a muster that does not know them: then wouldChange has all.
  starts?: string[];
  actions?: { by: string; what: string; command?: string }[];
  notes: string[];
  alarm?: string; // as of lists
  facts: { name: string; value: string }[];
  flavors: {
    podSet: string;
    resource: string;
    flavor: string;
    requested: string;
    free: string;
    nominal: string;
    most: string;
    verdict: string;
  }[];
  others: { role: string; count: number; sentence?: string; names: { namespace: string; name: string }[] }[];
  timeline: Moment[];
}

export interface UsageHistory {
  metadata: { clusterQueue: string; intervalSeconds: number };
  times: string[];
  pending: number[];
  reserving: number[];
  resources: { flavor: string; resource: string; used: string[] }[];
}

export interface Context {
  namespace: string;
  server: string;
  version: string;
  proxied?: boolean; // muster serves the page, behind a proxy where people log in
  kinds?: string[]; // "Job.batch", "Pod.": of objects that can be asked about; an older muster has none
}

// Why there is no answer; `status` is 0 where no server answered.
export class NoAnswer extends Error {
  constructor(message: string, readonly status: number) {
    super(message);
  }
}

let proxied = false;

// Who answers is known from the context.
export async function askContext(): Promise<Context> {
  const context = await ask<Context>("context", new AbortController().signal);
  proxied = context.proxied ?? false;
  if (context.kinds !== undefined) setAskedKinds(context.kinds);
  return context;
}

export async function ask<Answer>(path: string, signal: AbortSignal): Promise<Answer> {
  let response: Response;
  try {
    // Proxies with login answer such requests with 401, and others with a page.
    response = await fetch("api/" + path, { signal, headers: { Accept: "application/json" } });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new NoAnswer(proxied ? "muster does not answer." : "muster dashboard does not answer. Is the command still running?", 0);
  }
  let body: Answer & { message?: string };
  try {
    body = (await response.json()) as Answer & { message?: string };
  } catch (error) {
    if (signal.aborted) throw error;
    throw new NoAnswer("Something before muster has answered (HTTP " + response.status + "). If you were logged out, reload the page.", response.status);
  }
  if (!response.ok) throw new NoAnswer(body.message ?? "HTTP " + response.status, response.status);
  return body;
}

export function query(path: string, values: Record<string, string | number | undefined>): string {
  const parts = Object.entries(values)
    .filter(([, value]) => value !== undefined && value !== "")
    .map(([name, value]) => name + "=" + encodeURIComponent(String(value)));
  return parts.length === 0 ? path : path + "?" + parts.join("&");
}

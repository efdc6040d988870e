// Numbers and times as people read them.
import type { StartEstimate, WorkloadItem } from "./api";

const SUFFIXES: Record<string, number> = {
  n: 1e-9, u: 1e-6, m: 1e-3, "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18,
  Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60,
};

// A quantity of Kubernetes ("1500m", "64Gi", "1e3") as a number, near enough for the length of a bar; 0 when it is none.
export function amount(quantity: string | undefined): number {
  const parts = /^([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([A-Za-z]*)$/.exec(quantity ?? "");
  const scale = parts === null ? undefined : SUFFIXES[parts[2] ?? ""];
  return parts === null || scale === undefined ? 0 : Number(parts[1]) * scale;
}

// "3m", "2h5m", "4d": how long ago, or until when.
export function span(from: string | null | undefined, to: number): string {
  if (!from) return "";
  const seconds = Math.max(0, Math.round(Math.abs(to - Date.parse(from)) / 1000));
  if (seconds < 120) return seconds + "s";
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return minutes + "m";
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? hours + "h" : hours + "h" + (minutes % 60) + "m";
  return Math.floor(hours / 24) + "d";
}

// "10m to 25m", "over 3h": until a start; empty where no time is known.
export function eta(estimate: StartEstimate | undefined, at: number): string {
  if (estimate?.earliest === undefined) return "";
  const until = (time: string) => (Date.parse(time) <= at ? "0s" : span(time, at));
  if (estimate.outcome === "NotBefore" || estimate.outcome === "BeyondHorizon") return "over " + until(estimate.earliest);
  if (estimate.latest === undefined) return "";
  return Date.parse(estimate.latest) <= at ? "now" : until(estimate.earliest) + " to " + until(estimate.latest);
}

export function clock(time: number): string {
  return new Date(time).toLocaleTimeString();
}

export interface JobName {
  kind: string;
  name: string;
}

// The object that a person knows: the job, or the Workload where nothing owns it. muster explains Jobs and
// JobSets by name, other kinds by their Workload.
export function jobOf(item: { name: string; job?: JobName }): JobName {
  return item.job === undefined ? { kind: "workload", name: item.name } : { kind: item.job.kind.toLowerCase(), name: item.job.name };
}

export function explainable(item: { name: string; job?: JobName }): JobName {
  const job = jobOf(item);
  return job.kind === "job" || job.kind === "jobset" ? job : { kind: "workload", name: item.name };
}

export function position(item: WorkloadItem): string {
  if (item.positionInClusterQueue === undefined) return "";
  return (item.positionInLocalQueue ?? 0) + 1 + " / " + (item.positionInClusterQueue + 1);
}

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

const BINARY = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL = ["k", "M", "G", "T", "P", "E"];
// Counts below this are written in full: "1024" GPUs are never "1.024k".
const WRITTEN_IN_FULL = 1e7;

// At most four digits that count: "227.4Gi".
function scaled(value: number, base: number, suffixes: string[]): string {
  let mantissa = value / base;
  let i = 0;
  for (; mantissa >= base && i + 1 < suffixes.length; ++i) mantissa /= base;
  const decimals = mantissa >= 1000 ? 0 : mantissa >= 100 ? 1 : mantissa >= 10 ? 2 : 3;
  const digits = Math.round(mantissa * 10 ** decimals);
  if (digits >= base * 10 ** decimals && i + 1 < suffixes.length) return "1" + suffixes[i + 1];
  return trimmed(digits, decimals) + suffixes[i];
}

// `digits` without the zeros behind the point, which is before the last `decimals` of them.
function trimmed(digits: number, decimals: number): string {
  const whole = Math.floor(digits / 10 ** decimals);
  const rest = String(digits % 10 ** decimals).padStart(decimals, "0").replace(/0+$/, "");
  return whole + (decimals === 0 || rest === "" ? "" : "." + rest);
}

// One quantity as people read it: cpu in cores ("99.626"; below one core "250m"), bytes with a binary suffix ("227.4Gi"),
// all else as a count. The same as api/readable_amount.h; the table test/api/readable_amounts.json holds for both.
export function readable(resource: string, quantity: string | number | undefined): string {
  const value = typeof quantity === "number" ? quantity : amount(quantity);
  const sign = value < 0 ? "-" : "";
  const size = Math.abs(value);
  if (resource === "cpu") {
    const thousandths = Math.round(size * 1000);
    if (thousandths === 0) return "0";
    return sign + (thousandths < 1000 ? thousandths + "m" : trimmed(thousandths, 3));
  }
  const bytes = /^(memory|ephemeral-storage|storage)$|^hugepages-/.test(resource);
  if (bytes && size >= 1024) return sign + scaled(size, 1024, BINARY);
  if (!bytes && size >= WRITTEN_IN_FULL) return sign + scaled(size, 1000, DECIMAL);
  const whole = Math.round(size);
  return whole === 0 ? "0" : sign + whole;
}

// A count: "50,000", whatever the browser's language is, as the words around it are English.
export function count(number: number): string {
  return number.toLocaleString("en-US");
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

// A time until a start, rounded as in muster's own sentences and tables (rough_span): "45s", "12m", "3h20m", "14h", "2d".
export function roughSpan(seconds: number): string {
  if (seconds <= 0) return "0s";
  if (seconds < 120) return seconds + "s";
  if (seconds < 7200) return Math.round(seconds / 60) + "m";
  if (seconds < 36_000) {
    const minutes = Math.round(seconds / 600) * 10;
    return Math.floor(minutes / 60) + "h" + (minutes % 60 === 0 ? "" : (minutes % 60) + "m");
  }
  if (seconds < 172_800) return Math.round(seconds / 3600) + "h";
  return Math.round(seconds / 86_400) + "d";
}

// "10m to 25m", "over 3h": until a start; empty where no time is known.
export function eta(estimate: StartEstimate | undefined, at: number): string {
  if (estimate?.earliest === undefined) return "";
  const until = (time: string) => roughSpan(Math.round((Date.parse(time) - at) / 1000));
  if (estimate.outcome === "NotBefore" || estimate.outcome === "BeyondHorizon") return "over " + until(estimate.earliest);
  if (estimate.latest === undefined) return "";
  return Date.parse(estimate.latest) <= at ? "now" : until(estimate.earliest) + " to " + until(estimate.latest);
}

// Times are in UTC on the whole page, as in muster's own sentences and logs: "2026-11-28 00:22:05 UTC".
export function utc(time: string | number): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? String(time) : date.toISOString().slice(0, 19).replace("T", " ") + " UTC";
}

export function clock(time: number): string {
  return utc(time).slice(11);
}

// "3m ago", "in 5m".
export function relative(time: string, at: number): string {
  const from = Date.parse(time);
  return Number.isNaN(from) ? "" : from <= at ? span(time, at) + " ago" : "in " + span(time, at);
}

// A sentence of muster's, its times as everywhere on the page: "until 5m from now (2026-11-28 00:22:05 UTC)".
export function withTimes(sentence: string, at: number): string {
  return sentence.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (time) => {
    const far = span(time, at) + (Date.parse(time) <= at ? " ago" : " from now");
    return far + " (" + utc(time) + ")";
  });
}

export interface JobName {
  apiVersion?: string;
  kind: string;
  name: string;
}

let askedKinds: ReadonlySet<string> = new Set(["Job.batch", "JobSet.jobset.x-k8s.io"]);

// "Job.batch", "Pod.": the kinds of objects that whoever answers can be asked about.
export function setAskedKinds(kinds: string[]): void {
  askedKinds = new Set(kinds);
}

function isAskedKind(job: JobName): boolean {
  const version = job.apiVersion ?? "";
  return askedKinds.has(job.kind + "." + (version.includes("/") ? version.slice(0, version.indexOf("/")) : ""));
}

// The object that a person knows: the job, or the Workload where nothing owns it.
export function jobOf(item: { name: string; job?: JobName }): JobName {
  return item.job === undefined ? { kind: "workload", name: item.name } : { kind: item.job.kind.toLowerCase(), name: item.job.name };
}

// What the page can ask about: the Workload of a job whose kind only muster's own configuration describes.
export function explainable(item: { name: string; job?: JobName }): JobName {
  return item.job !== undefined && isAskedKind(item.job) ? jobOf(item) : { kind: "workload", name: item.name };
}

export function linkOf(namespace: string, job: JobName): string {
  return "#/job/" + [namespace, job.kind, job.name].map(encodeURIComponent).join("/");
}

export function position(item: WorkloadItem): string {
  if (item.positionInClusterQueue === undefined) return "";
  return (item.positionInLocalQueue ?? 0) + 1 + " / " + (item.positionInClusterQueue + 1);
}

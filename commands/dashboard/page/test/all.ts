// What the page computes, without a browser: run by `scripts/dashboard check`. Ends with an error that names each case
// that fails.
import table from "../../../../test/api/meta/readable_quantities.json";
import spans from "../../../../test/api/rough_spans.json";

import type { Quota } from "../src/api";
import { partsOf } from "../src/bars";
import { narrows, NO_FILTER, questionOf, readFilter, writeFilter, type Filter } from "../src/filter";
import { count, eta, explainable, linkOf, readable, relative, roughSpan, setAskedKinds, utc, withTimes } from "../src/words";

const wrong: string[] = [];

function same(what: string, is: unknown, wanted: unknown): void {
  if (JSON.stringify(is) !== JSON.stringify(wanted)) wrong.push(what + ": is " + JSON.stringify(is) + ", should be " + JSON.stringify(wanted));
}

// The same table is read by test/api/meta/readable_quantity_test.cpp.
for (const [resource, quantity, wanted] of table) same(resource + " " + quantity, readable(resource!, quantity), wanted);
same("a count", count(50000), "50,000");
// And this one by test/api/start_estimate_test.cpp.
for (const [seconds, wanted] of spans as [number, string][]) same(seconds + " s", roughSpan(seconds), wanted);

// [nominal, used, borrowed, free, max] and what is drawn of it: own, lent, free own, borrowed, used by others.
const bars: [string, string[], number[]][] = [
  ["idle, alone", ["10", "0", "0", "10", "10"], [0, 0, 10, 0, 0]],
  ["full, alone", ["10", "10", "0", "0", "10"], [10, 0, 0, 0, 0]],
  ["its cohort is full, and it uses its own", ["4", "4", "0", "0", "24"], [4, 0, 0, 0, 20]],
  ["it has lent all", ["12", "0", "0", "0", "28"], [0, 12, 0, 0, 16]],
  ["it has lent a part", ["12", "2", "0", "4", "28"], [2, 6, 4, 0, 16]],
  ["it borrows all", ["16", "28", "12", "0", "28"], [16, 0, 0, 12, 0]],
  ["it can still borrow", ["16", "20", "4", "3", "28"], [16, 0, 0, 4, 5]],
  ["all of the cohort is free", ["4", "0", "0", "24", "24"], [0, 0, 4, 0, 0]],
  ["no quota of its own", ["0", "2", "2", "1", "8"], [0, 0, 0, 2, 5]],
  ["more is used than there is", ["4", "8", "4", "0", "6"], [4, 0, 0, 4, 0]],
  ["no quota at all", ["0", "0", "0", "0", "0"], [0, 0, 0, 0, 0]],
];
for (const [what, [nominal, used, borrowed, free, max], wanted] of bars) {
  const quota = { flavor: "f", resource: "cpu", nominal, used, borrowed, free, max } as Quota;
  const parts = partsOf(quota);
  same(what, [parts.own, parts.lent, parts.freeOfOwn, parts.borrowed, parts.others], wanted);
  // What is left empty is what is free.
  same(what + ", empty", parts.whole - parts.own - parts.lent - parts.borrowed - parts.others, parts.free);
}

const at = Date.parse("2026-11-28T00:17:05Z");
same("UTC", utc("2026-11-28T01:22:05+01:00"), "2026-11-28 00:22:05 UTC");
same("no time", utc("soon"), "soon");
same("a time before", relative("2026-11-28T00:14:05Z", at), "3m ago");
same("a time after", relative("2026-11-28T00:22:05Z", at), "in 5m");
// As `muster explain` and the tables of `kubectl muster get` say these times.
const range = (outcome: string, earliest: string, latest?: string) => eta({ outcome, earliest, latest }, at);
same("a range", range("Range", "2026-11-28T00:18:40Z", "2026-11-28T00:20:04Z"), "95s to 3m");
same("a range that has begun", range("Range", "2026-11-28T00:17:00Z", "2026-11-28T00:18:35Z"), "0s to 90s");
same("a range that is over", range("Range", "2026-11-28T00:16:00Z", "2026-11-28T00:17:05Z"), "now");
same("an open range", range("NotBefore", "2026-11-28T02:47:05Z"), "over 2h30m");
same("no estimate", eta(undefined, at), "");
same("a sentence", withTimes("waits until 2026-11-28T00:22:05Z, since 2026-11-28T00:14:05Z.", at),
  "waits until 5m from now (2026-11-28 00:22:05 UTC), since 3m ago (2026-11-28 00:14:05 UTC).");
same("a sentence without times", withTimes("asks for 4 cpu", at), "asks for 4 cpu");

const filter: Filter = { search: "a b&c", states: ["Pending", "Failed"], queue: "main", labels: "team in (a,b)", submitter: "oidc:x@y", sort: "-created", finished: true };
same("a filter in the address", readFilter(new URLSearchParams(writeFilter(filter))), filter);
same("no filter in the address", writeFilter(NO_FILTER), "");
same("an order narrows nothing", narrows({ ...NO_FILTER, sort: "name", finished: true }), false);
same("a search narrows", narrows({ ...NO_FILTER, search: "x" }), true);
same("of a namespace", questionOf("team-a", filter), {
  namespace: "team-a", queue: "main", state: "Pending,Failed", labelSelector: "team in (a,b)", search: "a b&c",
  sortBy: "-created", submitter: "oidc:x@y", finished: "true",
});
same("of all namespaces", questionOf("", { ...NO_FILTER, queue: "cq" }).clusterQueue, "cq");
same("who asks for finished jobs gets them", questionOf("", { ...NO_FILTER, states: ["Finished"] }).finished, "true");
// A row leads to its job where the job can be asked about, else to its Workload. One kind can be in two groups.
const row = (apiVersion: string, kind: string) => ({ name: "w-1", job: { apiVersion, kind, name: "a" } });
same("a Job, before anything is known", explainable(row("batch/v1", "Job")), { kind: "job", name: "a" });
same("a pod, before anything is known", explainable(row("v1", "Pod")), { kind: "workload", name: "w-1" });
setAskedKinds(["Job.batch", "Pod.", "RayJob.ray.io"]);
same("a pod", explainable(row("v1", "Pod")), { kind: "pod", name: "a" });
same("a RayJob of any version", explainable(row("ray.io/v1alpha1", "RayJob")), { kind: "rayjob", name: "a" });
same("a Job of another group", explainable(row("batch.volcano.sh/v1alpha1", "Job")), { kind: "workload", name: "w-1" });
same("a Workload that nothing owns", explainable({ name: "w-1" }), { kind: "workload", name: "w-1" });
same("names in a link", linkOf("a", { kind: "job", name: "x/../y?z" }), "#/job/a/job/x%2F..%2Fy%3Fz");

if (wrong.length > 0) throw new Error("\n" + wrong.join("\n"));

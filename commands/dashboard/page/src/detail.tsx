// One job: why it waits, the numbers behind that, who is ahead, who holds the quota, what happened.
import { useState } from "preact/hooks";

import { query, type Explained, type HolderItem, type List, type Moment } from "./api";
import { useLive } from "./live";
import { Empty, Notices } from "./parts";
import { amount, explainable, jobOf, span, type JobName } from "./words";

const ROLES: Record<string, string> = {
  ahead: "Ahead of it in the queue",
  victim: "Evicted for it, and still stopping",
  blocker: "Not ready, which holds up all admissions",
  preemptor: "It was preempted for",
};

export function Detail({ namespace, job }: { namespace: string; job: JobName }) {
  const live = useLive<Explained>(query("explain", { namespace, kind: job.kind, name: job.name }));
  const answer = live.answer;
  return (
    <main>
      <h1>{job.kind}/{job.name} <small>{namespace}</small></h1>
      <Notices live={live} notes={answer?.notes} />
      {answer === undefined ? live.error === undefined && <Empty>Reading…</Empty> : <Answer namespace={namespace} job={job} answer={answer} />}
    </main>
  );
}

function Answer({ namespace, job, answer }: { namespace: string; job: JobName; answer: Explained }) {
  const queue = answer.facts.find((fact) => fact.name === "LocalQueue")?.value;
  const short = answer.flavors.filter((row) => amount(row.requested) > amount(row.free)).map((row) => row.resource);
  return (
    <>
      <p class="headline">{answer.headline}</p>
      {answer.because.map((sentence) => <p key={sentence}>{sentence}</p>)}
      {answer.wouldChange.length > 0 && (
        <section>
          <h2>What you can do</h2>
          <ul>{answer.wouldChange.map((sentence) => <li key={sentence}>{sentence}</li>)}</ul>
        </section>
      )}
      {answer.flavors.length > 0 && <Flavors rows={answer.flavors} />}
      {queue !== undefined &&
        [...new Set(short)].map((resource) => <Holders key={resource} namespace={namespace} queue={queue} resource={resource} />)}
      {answer.others.map((others) => (
        <section key={others.role}>
          <h2>{ROLES[others.role] ?? others.role}: {others.count}</h2>
          <ul>
            {others.names.map((name) => (
              <li key={name.namespace + "/" + name.name}>
                <a href={"#/job/" + name.namespace + "/workload/" + name.name}>{name.namespace}/{name.name}</a>
              </li>
            ))}
            {others.count > others.names.length && <li>{others.count - others.names.length} more</li>}
          </ul>
        </section>
      ))}
      <section>
        <h2>Facts</h2>
        <dl>{answer.facts.map((fact) => <div key={fact.name}><dt>{fact.name}</dt><dd>{fact.value}</dd></div>)}</dl>
      </section>
      {answer.timeline.length > 0 && <Timeline moments={answer.timeline} />}
      <section>
        <h2>Commands</h2>
        <Command text={"kubectl muster explain " + job.kind + "/" + job.name + " -n " + namespace} />
        <Command text={"kubectl muster history " + job.kind + "/" + job.name + " -n " + namespace} />
        <Command text={"kubectl get " + (job.kind === "workload" ? "workloads.kueue.x-k8s.io" : job.kind) + " " + job.name + " -n " + namespace + " -o yaml"} />
      </section>
    </>
  );
}

function Timeline({ moments }: { moments: Moment[] }) {
  const rough = moments.some((moment) => moment.fromConditions);
  return (
    <section>
      <h2>History</h2>
      <ol class="timeline">
        {moments.map((moment, index) => (
          <li key={index} class={moment.fromConditions ? "rough" : undefined}>
            <time dateTime={moment.time}>{new Date(moment.time).toLocaleString()}</time> {moment.what}
            {moment.by !== undefined && (
              <>: <a href={"#/job/" + moment.by.namespace + "/workload/" + moment.by.name}>{moment.by.namespace}/{moment.by.name}</a></>
            )}
          </li>
        ))}
      </ol>
      {rough && <p class="legend">In italics: before this replica of muster began. From conditions, which tell only the last change of each.</p>}
    </section>
  );
}

// Where quota lacks, the numbers before it say the same.
function verdict(text: string): string {
  return text === "" || text.startsWith("asks for ") ? "" : ": " + text;
}

function Flavors({ rows }: { rows: Explained["flavors"] }) {
  return (
    <section>
      <h2>Quota</h2>
      {rows.map((row) => {
        const whole = Math.max(amount(row.most), amount(row.requested), amount(row.nominal), 1e-9);
        const part = (text: string) => (100 * amount(text)) / whole;
        return (
          <div class="quota" key={row.podSet + row.resource + row.flavor}>
            <span class="what">{row.resource}<small> {row.flavor || "no flavor"}{row.podSet === "" ? "" : " · " + row.podSet}</small></span>
            <svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label={row.resource + ": " + row.requested + " requested, " + row.free + " free"}>
              <rect class="room" x="0" y="0" width="100" height="10" />
              <rect class="free" x="0" y="0" width={Math.min(100, part(row.free))} height="5" />
              <rect class={amount(row.requested) > amount(row.free) ? "lacking" : "own"} x="0" y="5" width={Math.min(100, part(row.requested))} height="5" />
              <rect class="mark" x={Math.min(99.4, part(row.nominal))} y="0" width="0.6" height="10" />
            </svg>
            <span class="says">asks for {row.requested}, {row.free} free, nominal {row.nominal}, at most {row.most}{verdict(row.verdict)}</span>
          </div>
        );
      })}
    </section>
  );
}

function Holders({ namespace, queue, resource }: { namespace: string; queue: string; resource: string }) {
  const live = useLive<List<HolderItem>>(query("holders", { resource, namespace, queue }));
  const list = live.answer;
  if (list === undefined) return live.error === undefined ? null : <Notices live={live} />;
  const hidden = list.metadata.hidden;
  const at = Date.parse(list.metadata.at);
  if (list.items.length === 0 && (hidden === undefined || hidden.count === 0)) return null;
  return (
    <section>
      <h2>Who holds {resource}</h2>
      <table>
        <thead><tr><th>Job</th><th>Amount</th><th>Flavor</th><th>Since</th><th>At most for</th></tr></thead>
        <tbody>
          {list.items.map((item) => {
            const target = explainable(item);
            return (
              <tr key={item.namespace + "/" + item.name + item.flavor}>
                <td><a href={"#/job/" + item.namespace + "/" + target.kind + "/" + target.name}>{item.namespace}/{jobOf(item).name}</a></td>
                <td>{item.amount}</td>
                <td>{item.flavor}</td>
                <td>{span(item.since, at)}</td>
                <td>{item.untilAtMost === null ? "no limit" : span(item.untilAtMost, at)}</td>
              </tr>
            );
          })}
          {hidden !== undefined && hidden.count > 0 && (
            <tr><td>{hidden.count} in namespaces that you may not list</td><td>{hidden.amount}</td><td /><td /><td /></tr>
          )}
        </tbody>
      </table>
    </section>
  );
}

function Command({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  const copy = () => {
    void navigator.clipboard.writeText(text).then(() => {
      setCopied(true);
      window.setTimeout(() => setCopied(false), 2000);
    });
  };
  return (
    <p class="command"><code>{text}</code> <button onClick={copy} aria-label={"Copy " + text}>{copied ? "Copied" : "Copy"}</button></p>
  );
}

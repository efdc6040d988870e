// One job: why it waits, the numbers behind that, who is ahead, who holds the quota, what happened.
import { useState } from "preact/hooks";

import { query, type Explained, type HolderItem, type List, type Moment } from "./api";
import { JobBars, lacks } from "./bars";
import { useLive } from "./live";
import { Empty, NotFound, Notices, useTitle } from "./parts";
import { count, explainable, jobOf, linkOf, readable, relative, span, utc, withTimes, type JobName } from "./words";

const ROLES: Record<string, string> = {
  ahead: "Ahead of it in the queue",
  victim: "Evicted for it, and still stopping",
  blocker: "Not ready, which holds up all admissions",
  preemptor: "It was preempted for",
};

export function Detail({ namespace, job }: { namespace: string; job: JobName }) {
  const live = useLive<Explained>(query("explain", { namespace, kind: job.kind, name: job.name }));
  const answer = live.answer;
  const title = job.kind + "/" + job.name;
  useTitle(title + " · " + namespace);
  if (live.status === 404 || answer?.found === false) {
    return (
      <main>
        <NotFound what={title + " in namespace " + namespace}>
          <p>{answer?.headline ?? live.error}</p>
          {answer !== undefined && answer.timeline.length > 0 ? (
            <Timeline moments={answer.timeline} at={timeOf(answer)} />
          ) : (
            <>
              <p>If it was deleted in the last 24 hours, muster can have its history:</p>
              <Command text={"kubectl muster history " + title + " -n " + namespace} />
            </>
          )}
          <p><a href={"#/jobs/" + encodeURIComponent(namespace)}>The jobs of namespace {namespace}</a></p>
        </NotFound>
      </main>
    );
  }
  return (
    <main>
      <h1>{title} <small>{namespace}</small></h1>
      <Notices live={live} alarm={answer?.alarm} notes={answer?.notes} />
      {answer === undefined ? live.error === undefined && <Empty>Reading…</Empty> : <Answer namespace={namespace} job={job} answer={answer} />}
    </main>
  );
}

const timeOf = (answer: Explained) => Date.parse(answer.at ?? "") || Date.now();

function Answer({ namespace, job, answer }: { namespace: string; job: JobName; answer: Explained }) {
  const queue = answer.facts.find((fact) => fact.name === "LocalQueue")?.value;
  const short = answer.flavors.filter(lacks).map((row) => row.resource);
  const at = timeOf(answer);
  return (
    <>
      <p class="headline">{withTimes(answer.headline, at)}</p>
      {answer.because.map((sentence) => <p key={sentence}>{withTimes(sentence, at)}</p>)}
      <Changes answer={answer} at={at} />
      {answer.flavors.length > 0 && <JobBars rows={answer.flavors} />}
      {queue !== undefined &&
        [...new Set(short)].map((resource) => <Holders key={resource} namespace={namespace} queue={queue} resource={resource} />)}
      {answer.others.map((others, index) => (
        <section key={index}>
          <h2>{others.sentence ?? (ROLES[others.role] ?? others.role) + ": " + count(others.count)}</h2>
          <ul>
            {others.names.map((name) => (
              <li key={name.namespace + "/" + name.name}>
                <a href={linkOf(name.namespace, { kind: "workload", name: name.name })}>{name.namespace}/{name.name}</a>
              </li>
            ))}
            {others.count > others.names.length && <li>{count(others.count - others.names.length)} more</li>}
          </ul>
        </section>
      ))}
      <section>
        <h2>Facts</h2>
        <dl>{answer.facts.map((fact) => <div key={fact.name}><dt>{fact.name}</dt><dd>{withTimes(fact.value, at)}</dd></div>)}</dl>
      </section>
      {answer.timeline.length > 0 && <Timeline moments={answer.timeline} at={at} />}
      <section>
        <h2>Commands</h2>
        <Command text={"kubectl muster explain " + job.kind + "/" + job.name + " -n " + namespace} />
        <Command text={"kubectl muster history " + job.kind + "/" + job.name + " -n " + namespace} />
        <Command text={"kubectl get " + (job.kind === "workload" ? "workloads.kueue.x-k8s.io" : job.kind) + " " + job.name + " -n " + namespace + " -o yaml"} />
      </section>
    </>
  );
}

// What happens without a person, then what a person can do.
function Changes({ answer, at }: { answer: Explained; at: number }) {
  const { starts = [], actions = [] } = answer;
  const said = new Set([...starts, ...actions.map((action) => action.what + (action.by === "you" ? "" : " (" + action.by + ")") + (action.command === undefined ? "." : ": " + action.command))]);
  const rest = answer.wouldChange.filter((sentence) => !said.has(sentence));
  return (
    <>
      {starts.length > 0 && (
        <section>
          <h2>When it starts</h2>
          <ul>{starts.map((sentence) => <li key={sentence}>{withTimes(sentence, at)}</li>)}</ul>
        </section>
      )}
      {actions.length + rest.length > 0 && (
        <section>
          <h2>What you can do</h2>
          <ul>
            {actions.map((action) => (
              <li key={action.by + action.what}>
                <small>{action.by}: </small>{withTimes(action.what, at)}
                {action.command !== undefined && <Command text={action.command} />}
              </li>
            ))}
            {rest.map((sentence) => <li key={sentence}>{withTimes(sentence, at)}</li>)}
          </ul>
        </section>
      )}
    </>
  );
}

function Timeline({ moments, at }: { moments: Moment[]; at: number }) {
  const rough = moments.some((moment) => moment.fromConditions);
  return (
    <section>
      <h2>History</h2>
      <ol class="timeline">
        {moments.map((moment, index) => (
          <li key={index} class={moment.fromConditions ? "rough" : undefined}>
            <time dateTime={moment.time}>{relative(moment.time, at)} <small>{utc(moment.time)}</small></time> {withTimes(moment.what, at)}
            {moment.by !== undefined && (
              <>: <a href={linkOf(moment.by.namespace, { kind: "workload", name: moment.by.name })}>{moment.by.namespace}/{moment.by.name}</a></>
            )}
          </li>
        ))}
      </ol>
      {rough && <p class="legend">In italics: before this replica of muster began. From conditions, which tell only the last change of each.</p>}
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
      <div class="wide"><table>
        <thead><tr><th>Job</th><th>Amount</th><th>Flavor</th><th>Since</th><th>At most for</th></tr></thead>
        <tbody>
          {list.items.map((item) => {
            return (
              <tr key={item.namespace + "/" + item.name + item.flavor}>
                <td><a href={linkOf(item.namespace, explainable(item))}>{item.namespace}/{jobOf(item).name}</a></td>
                <td>{readable(resource, item.amount)}</td>
                <td>{item.flavor}</td>
                <td title={item.since === null ? undefined : utc(item.since)}>{span(item.since, at)}</td>
                <td title={item.untilAtMost === null ? undefined : utc(item.untilAtMost)}>{item.untilAtMost === null ? "no limit" : span(item.untilAtMost, at)}</td>
              </tr>
            );
          })}
          {hidden !== undefined && hidden.count > 0 && (
            <tr><td>{hidden.count} in namespaces that you may not list</td><td>{readable(resource, hidden.amount)}</td><td /><td /><td /></tr>
          )}
        </tbody>
      </table></div>
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

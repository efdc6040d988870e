// The page of `muster dashboard`. Views are fragments of the address, so that they can be kept as bookmarks while the
// command runs, and nothing of them is sent to anybody.
import { render } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

import { askContext, type Context } from "./api";
import { Detail } from "./detail";
import { Jobs } from "./jobs";
import { Empty } from "./parts";
import { QueueList, QuotaTree } from "./quota";

// What cannot be decoded names nothing.
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

function useHash(): string[] {
  const read = () => window.location.hash.replace(/^#\/?/, "").split("/").map(decoded);
  const [parts, setParts] = useState(read);
  useLayoutEffect(() => {
    const changed = () => setParts(read());
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  return parts;
}

function View({ parts }: { parts: string[] }) {
  const [view, first = "", second = "", third = ""] = parts;
  switch (view) {
    case "jobs":
      return <Jobs key={first} namespace={first === "*" ? "" : first} />;
    case "job":
      return <Detail key={parts.join("/")} namespace={first} job={{ kind: second, name: third }} />;
    case "quota":
      return <QuotaTree />;
    case "queue":
      return <QueueList key={first} name={first} />;
    default:
      return <main><Empty>There is no such view.</Empty></main>;
  }
}

function App({ context }: { context: Context }) {
  const home = "#/jobs/" + (context.namespace || "*");
  const hash = useHash();
  const parts = hash[0] === "" ? ["jobs", context.namespace || "*"] : hash;
  const current = (views: string[]) => (views.includes(parts[0] ?? "") ? "page" : undefined);
  return (
    <>
      <header>
        <b>muster</b>
        <nav aria-label="Views">
          <a href={home} aria-current={current(["jobs", "job"])}>Jobs</a>
          <a href="#/quota" aria-current={current(["quota", "queue"])}>Quota</a>
        </nav>
        <small>{context.server}</small>
      </header>
      <View parts={parts} />
    </>
  );
}

const root = document.getElementById("app");
if (root !== null) {
  root.textContent = "";
  askContext()
    .then((context) => render(<App context={context} />, root))
    .catch((error: Error) => render(<Empty>{error.message}</Empty>, root));
}

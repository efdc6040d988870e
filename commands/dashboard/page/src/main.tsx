// The page of `muster dashboard`. Views are fragments of the address, so that they can be kept as bookmarks while the
// command runs, and nothing of them is sent to a server.
import { render } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";

import { askContext, type Context } from "./api";
import { Detail } from "./detail";
import { readFilter } from "./filter";
import { Jobs } from "./jobs";
import { Empty, NotFound } from "./parts";
import { restorePlace, watchPlaces } from "./place";
import { QueueList, QuotaTree } from "./quota";

interface Route {
  address: string;
  parts: string[];
  values: URLSearchParams; // behind a "?" of the fragment
}

// What cannot be decoded names nothing.
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

function readRoute(): Route {
  const address = window.location.hash.replace(/^#\/?/, "");
  const [path = "", ...rest] = address.split("?");
  return { address, parts: path.split("/").map(decoded), values: new URLSearchParams(rest.join("?")) };
}

function useRoute(): Route {
  const [route, setRoute] = useState(readRoute);
  useLayoutEffect(() => {
    const changed = () => setRoute(readRoute());
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  return route;
}

function View({ route }: { route: Route }) {
  const [view, first = "", second = "", third = ""] = route.parts;
  switch (view) {
    case "jobs":
      return <Jobs key={route.address} namespace={first === "*" ? "" : first} first={readFilter(route.values)} />;
    case "job":
      return <Detail key={route.address} namespace={first} job={{ kind: second, name: third }} />;
    case "quota":
      return <QuotaTree />;
    case "queue":
      return <QueueList key={first} name={first} />;
    default:
      return <main><NotFound what="this view"><p>The address names no view of this page.</p></NotFound></main>;
  }
}

function App({ context }: { context: Context }) {
  const home = "#/jobs/" + (context.namespace || "*");
  const read = useRoute();
  const route = read.parts[0] === "" ? { ...read, parts: ["jobs", context.namespace || "*"] } : read;
  const current = (views: string[]) => (views.includes(route.parts[0] ?? "") ? "page" : undefined);
  useEffect(restorePlace, [read]);
  return (
    <>
      <header>
        <b>muster</b>
        <nav aria-label="Views">
          <a href={home} aria-current={current(["jobs", "job"])}>Jobs</a>
          <a href="#/quota" aria-current={current(["quota", "queue"])}>Quota</a>
        </nav>
        <small>{context.server} · times in UTC</small>
      </header>
      <View route={route} />
    </>
  );
}

const root = document.getElementById("app");
if (root !== null) {
  root.textContent = "";
  watchPlaces();
  askContext()
    .then((context) => render(<App context={context} />, root))
    .catch((error: Error) => render(<Empty>{error.message}</Empty>, root));
}

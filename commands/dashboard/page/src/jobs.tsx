// The jobs of a namespace, or of all that this person may list.
import { useState } from "preact/hooks";

import { WorkloadRows } from "./rows";

export function Jobs({ namespace }: { namespace: string }) {
  const [typed, setTyped] = useState(namespace);
  const go = (event: Event) => {
    event.preventDefault();
    window.location.hash = "#/jobs/" + (typed.trim() || "*");
  };
  return (
    <main>
      <form class="filter" onSubmit={go}>
        <label>
          Namespace <input value={typed} placeholder="all" spellcheck={false} onInput={(event) => setTyped(event.currentTarget.value)} />
        </label>
        <button>Show</button>
        <a href="#/jobs/*">All namespaces</a>
      </form>
      <WorkloadRows
        key={namespace}
        filter={{ namespace }}
        empty={namespace === "" ? "Nothing is queued." : "Nothing is queued in namespace " + namespace + "."}
      />
    </main>
  );
}

// Answers that are asked for again and again while the page is visible.
import { useEffect, useState } from "preact/hooks";

import { ask, NoAnswer } from "./api";

const INTERVAL = 2000;
const LONGEST_PAUSE = 30000;

export interface Live<Answer> {
  answer?: Answer;
  // Why the last question has no answer; the answer before it is kept.
  error?: string;
  status?: number; // of that answer: 404 where there is no such object
  failedSince?: number;
}

// Asks at once and then every `interval` milliseconds; after failures less and less often. A hidden tab asks nothing.
export function useLive<Answer>(path: string | undefined, interval = INTERVAL): Live<Answer> {
  const [live, setLive] = useState<Live<Answer>>({});
  useEffect(() => {
    setLive({});
    if (path === undefined) return;
    const controller = new AbortController();
    let timer = 0;
    let pause = interval;
    const next = () => {
      timer = window.setTimeout(turn, pause);
    };
    const turn = async () => {
      if (document.hidden) return next();
      try {
        const answer = await ask<Answer>(path, controller.signal);
        pause = interval;
        setLive({ answer });
      } catch (error) {
        if (controller.signal.aborted) return;
        pause = Math.min(2 * pause, Math.max(interval, LONGEST_PAUSE));
        const message = (error as Error).message;
        const status = error instanceof NoAnswer ? error.status : undefined;
        setLive((last) => ({ answer: last.answer, error: message, status, failedSince: last.failedSince ?? Date.now() }));
      }
      if (!controller.signal.aborted) next();
    };
    const shown = () => {
      if (document.hidden) return;
      window.clearTimeout(timer);
      void turn();
    };
    document.addEventListener("visibilitychange", shown);
    void turn();
    return () => {
      controller.abort();
      window.clearTimeout(timer);
      document.removeEventListener("visibilitychange", shown);
    };
  }, [path, interval]);
  return live;
}

// The stream of events: read for as long as the page is there, resumed where it broke.
import { events, headers } from './mcp.js';

const FIRST_WAIT = 400;
const LONGEST_WAIT = 4000;

function delay(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

// on.event(event), on.state("open" | "lost" | "refused", message, status of the answer)
export async function follow(on) {
  let last;
  let wait = FIRST_WAIT;
  for (;;) {
    let message = 'The server cannot be reached';
    try {
      const response = await fetch('/events', {
        headers: headers(last ? { 'Last-Event-ID': last } : {}),
        cache: 'no-store',
      });
      if (response.status === 401 || response.status === 403) {
        const answer = await response.json().catch(() => ({}));
        on.state('refused', answer.error?.message ?? '', response.status);
        return;
      }
      if (!response.ok) throw new Error(`The server answers ${response.status}`);
      on.state('open');
      wait = FIRST_WAIT;
      for await (const event of events(response)) {
        if (event.id) last = event.id;
        if (event.data) on.event(JSON.parse(event.data));
      }
    } catch (error) {
      if (!(error instanceof TypeError)) message = error.message;
    }
    on.state('lost', message);
    await delay(wait);
    wait = Math.min(wait * 1.6, LONGEST_WAIT);
  }
}

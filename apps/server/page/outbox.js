// Answers on their way. Each is written to this browser's storage before it is sent and removed when the server has it on disk.
import { Problem, kept, post } from './api.js';

const KEY = 'quorate.outbox';
const store = kept('localStorage');
// These replies are final: sending the same again cannot help.
const FINAL = new Set([400, 404, 409, 410, 413, 422, 507]);

let sending = null, timer, failures = 0;
let listener = { saved() {}, refused() {}, state() {} };

/** saved(entry, reply): on the server's disk. refused(entry, problem): never will be. state(problem or null, number waiting). */
export function watchOutbox(callbacks) { listener = callbacks; }

// Always read afresh: another tab of this browser shares the list. A second sending of the same answer gets the same reply.
export const waiting = () => store.get(KEY) ?? [];
const remove = entry => store.set(KEY, waiting().filter(other => other.lease !== entry.lease));

/** Puts an answer or a skip at the end and sends what waits, in order. */
export function give(entry) {
  store.set(KEY, [...waiting().filter(other => other.lease !== entry.lease), entry]);
  return flush();
}

/** Sends what waits, one after the other; the promise ends when nothing waits or a sending failed. Never throws. */
export function flush() {
  clearTimeout(timer);
  sending ??= (async () => {
    for (let entry; (entry = waiting()[0]);) {
      try {
        const reply = entry.skip ? await post('/v1/skip', { lease: entry.lease })
          : await post('/v1/answer', { lease: entry.lease, label: entry.label, seconds: entry.seconds });
        if (reply.saved !== true) throw new Problem(502, 'The server did not confirm.');
        failures = 0;
        remove(entry);
        listener.state(null, waiting().length);
        listener.saved(entry, reply);
      } catch (problem) {
        if (!(problem instanceof Problem)) throw problem;
        if (FINAL.has(problem.status)) {
          remove(entry);
          listener.state(null, waiting().length);
          listener.refused(entry, problem);
          continue;
        }
        timer = setTimeout(flush, Math.min(30000, 1000 * 2 ** failures++));
        listener.state(problem, waiting().length);
        return;
      }
    }
  })().finally(() => { sending = null; });
  return sending;
}

addEventListener('online', () => { failures = 0; flush(); });

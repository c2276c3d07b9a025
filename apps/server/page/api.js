// The server's interface: JSON requests with the token of this tab, problems as exceptions, the stream of events.
import { byId, h } from './dom.js';

const TOKEN = 'quorate.token';

/** What a request failed with: the HTTP status, 0 without a connection, and the server's own sentence if there is one. */
export class Problem extends Error {
  constructor(status, detail, reason) {
    super(detail || `status ${status}`);
    this.status = status;
    this.detail = detail || '';
    this.reason = reason || ''; // a word, where the status does not tell
  }
}

/** Storage that forgets instead of failing where a browser refuses it (a full or a private one). */
export function kept(kind) {
  const spare = new Map();
  return {
    get(key) {
      try {
        const found = window[kind].getItem(key);
        return found === null ? spare.get(key) ?? null : JSON.parse(found);
      } catch { return spare.get(key) ?? null; }
    },
    set(key, value) {
      try { window[kind].setItem(key, JSON.stringify(value)); spare.delete(key); } catch { spare.set(key, value); }
    },
  };
}

const tab = kept('sessionStorage');

// An address with #token=... brings the token once; it leaves the address, so that it is not copied with it.
const given = /(?:^#|&)token=([^&]+)/.exec(location.hash);
if (given) {
  try { tab.set(TOKEN, decodeURIComponent(given[1])); } catch { tab.set(TOKEN, given[1]); }
  history.replaceState(null, '', location.pathname + location.search);
}

async function request(method, path, body, signal) {
  const headers = { Accept: 'application/json' }, token = tab.get(TOKEN);
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  let reply;
  try {
    reply = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body), cache: 'no-store' });
  } catch (error) {
    throw new Problem(0, error.name === 'TimeoutError' ? 'The server did not reply in time.' : '');
  }
  if (reply.ok) return reply;
  let detail = '', reason = '';
  try { ({ detail = '', reason = '' } = await reply.json()); } catch { /* a reply without a problem document: its status is enough */ }
  if (reply.status === 401) askForKey(detail);
  throw new Problem(reply.status, String(detail), reason);
}

/** The server's clock minus this one's, in milliseconds; 0 until it is known. From the Date header, so right to a second. */
export let skew = 0;

async function json(method, path, body) {
  const reply = await request(method, path, body, AbortSignal.timeout(15000));
  const date = Date.parse(reply.headers.get('Date') ?? '');
  if (date) skew = Math.abs(date - Date.now()) > 2000 ? date - Date.now() : 0;
  try { return await reply.json(); } catch { throw new Problem(0, 'The reply was cut off.'); }
}

export const get = path => json('GET', path);
export const post = (path, body) => json('POST', path, body);
export const put = (path, body) => json('PUT', path, body);
export async function getText(path) {
  const reply = await request('GET', path, undefined, AbortSignal.timeout(15000));
  try { return await reply.text(); } catch { throw new Problem(0, 'The reply was cut off.'); }
}

/**
 * Follows a stream of server-sent events for ever: `use(event, data)` for each, `state(text)` when the connection changes. Read by
 * fetch because EventSource cannot send the token. Waits 1, 2, 4 ... 30 s before it connects again; 45 s without a byte is a
 * broken connection too (the server sends at least a comment every 15 s).
 */
export async function follow(path, use, state) {
  for (let failures = 0; ; failures++) {
    const stop = new AbortController();
    let watch;
    const alive = () => { clearTimeout(watch); watch = setTimeout(() => stop.abort(), 45000); };
    try {
      alive();
      const reply = await request('GET', path, undefined, stop.signal);
      state('live');
      const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = '';
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        alive();
        const blocks = (rest + value).split(/\r?\n\r?\n/);
        rest = blocks.pop();
        for (const block of blocks) {
          let event = 'message';
          const data = [];
          for (const line of block.split(/\r?\n/)) {
            if (line.startsWith('event:')) event = line.slice(6).trim();
            else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
          }
          if (data.length) {
            failures = 0;
            try { use(event, JSON.parse(data.join('\n'))); } catch (error) { console.error(error); }
          }
        }
      }
    } catch { /* connected again below */ }
    clearTimeout(watch);
    state('reconnecting');
    await new Promise(wake => {
      const timer = setTimeout(wake, Math.min(30000, 1000 * 2 ** failures) * (0.8 + 0.4 * Math.random()));
      addEventListener('online', () => { clearTimeout(timer); wake(); }, { once: true });
    });
  }
}

/** Asks for the token of this person, once, and loads the view again with it. */
export function askForKey(detail) {
  if (byId('key')) return;
  const input = h('input', { id: 'key-text', type: 'password', required: true, autocomplete: 'off' });
  const dialog = h('dialog', { id: 'key', 'aria-labelledby': 'key-title' }, h('form', {
    method: 'dialog',
    onsubmit() { tab.set(TOKEN, input.value.trim()); location.reload(); },
  }, h('h2', { id: 'key-title' }, 'This server needs your key'),
  h('p', { class: 'soft' }, `Open the link you were given, or paste its token here. ${detail ?? ''}`),
  h('label', { for: 'key-text' }, 'Token'), input, h('button', { type: 'submit', class: 'main' }, 'Continue')));
  dialog.addEventListener('cancel', event => event.preventDefault());
  document.body.append(dialog);
  dialog.showModal();
}

// The labelling view. Questions are held under leases: the first one held is shown, one more is fetched ahead. An answer belongs to
// the lease of the question that was shown when the key went down, waits in the outbox until the server has it on disk, and
// "Saved" appears only then.
import { getText, get, kept, post, skew } from './api.js';
import { byId, h, median, notice, oneDecimal, percent, plural, showBudget, span, speak, svg, text } from './dom.js';
import { showExample, side, total } from './example.js';
import { markdown } from './markdown.js';
import { flush, give, waiting, watchOutbox } from './outbox.js';

const AHEAD = 2; // the question shown and the next one
const SETTLE = 300; // ms after a new question in which keys and clicks are taken for the end of a double press
const LOOK_AGAIN = [3000, 5000, 8000, 15000]; // ms between looks for a question when there was none
const MOST_REASONS = 8;

const browser = kept('localStorage'), tab = kept('sessionStorage');
let name = browser.get('quorate.name') ?? '';
let held = []; // questions with a lease, each with `deadline` in this clock's milliseconds
let shown = null, shownAt = 0, hiddenSince = 0, hiddenFor = 0; // the question on the screen, when it came, time unseen since
let none = null; // why no further question came: {kind: 'spent' | 'nothing' | 'audits' | 'closed' | 'offline' | 'refused', words}
let looks = 0, lookTimer, fetching = false;
let away = false; // the lease ran out while nobody was active
let undoing = false, lastActive = Date.now();
let reasons = null; // the explanation on the screen: {ticket, reply} or null
let session = tab.get('quorate.session') ?? [];
let budget = null, accepted = []; // leases answered by this page: a server's slow reply must not bring them back
let told = 0; // how many replies told the budget

// What is held ------------------------------------------------------------------------------------------------------------

function deadlineOf(question) {
  const left = question.until * 1000 - skew - Date.now(), most = question.seconds * 1000;
  return Date.now() + (left > 0 ? Math.min(left, most) : most); // a clock set wrong never expires a fresh lease
}

// A reload, or a crash of the tab, goes on with the questions it held instead of keeping them from everybody until they expire.
const remember = () => tab.set('quorate.held', { name, held });

function recall() {
  const old = tab.get('quorate.held'), sent = new Set(waiting().map(entry => entry.lease));
  if (old?.name === name) held = old.held.filter(question => question.deadline > Date.now() && !sent.has(question.lease));
  held.forEach(renew);
}

function hold(question, first) {
  const fresh = { ...question, deadline: deadlineOf(question) };
  held = held.filter(other => other.lease !== question.lease);
  if (first) held.unshift(fresh); else held.push(fresh);
  remember();
}

function drop(lease) {
  held = held.filter(question => question.lease !== lease);
  remember();
}

const renewals = new WeakMap(); // question -> earliest time of its next renewal

async function renew(question) {
  if (Date.now() < (renewals.get(question) ?? 0)) return;
  renewals.set(question, Date.now() + 10000);
  try {
    const { until } = await post('/v1/renew', { lease: question.lease });
    question.deadline = deadlineOf({ ...question, until });
    remember();
  } catch (problem) {
    if ([404, 409, 410].includes(problem.status) && held.includes(question)) {
      const seen = shown === question;
      drop(question.lease);
      if (seen) say('note', `${problem.detail ? sentence(problem.detail.replace(/^lease: /, '').replace(/^./, c => c.toUpperCase())) : 'That question is no longer open.'} Here is the next one.`);
      look();
    }
  }
}

// Fetching ----------------------------------------------------------------------------------------------------------------

/** Fetches until one question is ahead; with none to have, looks again later. */
async function look() {
  clearTimeout(lookTimer);
  show();
  if (!name || away || fetching || document.hidden) return; // no lease for a tab that nobody looks at
  fetching = true;
  const who = name;
  let again = false;
  try {
    while (held.length < AHEAD && who === name && !undoing) {
      const before = told;
      const reply = await post('/v1/next', { annotator: name });
      if (who !== name) break;
      if (reply.labels && told === before) spend(reply.labels); // else the reply to an answer has told what is newer
      const question = reply.question;
      const known = question && (held.some(other => other.lease === question.lease) || accepted.includes(question.lease) || waiting().some(entry => entry.lease === question.lease));
      if (known) { // a server that hands out one at a time, while the answer is still on its way
        again = true;
        break;
      }
      if (!question) {
        const { bought, limit } = reply.labels ?? {};
        const words = reply.reason ?? '';
        none = { kind: limit != null && bought >= limit ? 'spent' : words.includes('for audits') ? 'audits' : 'nothing', words };
        again = true;
        break;
      }
      hold(question);
      none = null;
      looks = 0;
      show();
    }
    if (!waiting().length) notice('connection');
  } catch (problem) {
    const kind = problem.status === 503 ? 'closed' : [0, 429, 500, 502, 504].includes(problem.status) ? 'offline' : 'refused';
    none = { kind, words: problem.detail };
    again = problem.status !== 401;
  } finally {
    fetching = false;
  }
  if (who !== name) { look(); return; }
  show();
  if (again) lookTimer = setTimeout(look, LOOK_AGAIN[Math.min(looks++, LOOK_AGAIN.length - 1)]);
}

function spend(labels) {
  told += 1;
  budget = labels;
  showBudget(labels);
}

// Showing -----------------------------------------------------------------------------------------------------------------

const REST = {
  start: ['', '', ''],
  spent: ['The label budget is spent', 'Every label that was planned is given. Thank you.', 'Predictions go on with what was learned. If the limit is raised on the team page, this page continues by itself.'],
  nothing: ['Nothing to ask right now', 'The learner has no question for you at the moment.', 'New examples arrive as the stream goes on. This page looks again every few seconds; you can leave it open.'],
  audits: ['Nothing to ask right now', '', 'If no more examples will come, the team page offers to use these labels for learning.'],
  closed: ['The server takes no answers at the moment', '', 'Everything that was shown as saved is safe. This page tries again by itself.'],
  offline: ['No connection to the server', '', 'Answers given so far stay in this browser until they are sent. This page tries again by itself.'],
  refused: ['The server refused', '', 'This page tries again by itself.'],
  away: ['Taking a break?', 'The time for this question ran out, so it may go to a colleague. Nothing is lost.', ''],
};

function show() {
  byId('row').hidden = !name;
  byId('person').hidden = !name;
  text(byId('person-name'), name);
  const question = away ? null : held[0] ?? null;
  byId('ask').hidden = byId('choices').hidden = !question;
  byId('skip').hidden = byId('explain').hidden = !question;
  if (question?.lease !== shown?.lease) (question ? showQuestion : clearQuestion)(question);
  if (question) shown = question;
  showRest(question);
  tick();
}

function showRest(question) {
  const kind = away ? 'away' : none?.kind ?? 'start', [title, words, next] = REST[kind];
  const rest = byId('rest'), before = rest.hidden ? '' : rest.dataset.kind;
  rest.hidden = !name || !!question || kind === 'start';
  rest.dataset.kind = kind;
  text(byId('rest-title'), title);
  const detail = kind === 'away' ? '' : none?.words ?? '';
  text(byId('rest-text'), kind === 'spent' && budget?.limit != null && !detail ? `All ${plural(budget.limit, 'label')} are given. Thank you.` : detail && kind !== 'spent' ? sentence(detail) : words);
  text(byId('rest-next'), next);
  byId('rest-go').hidden = kind !== 'away';
  if (!rest.hidden && before !== kind) {
    speak(`${title}. ${byId('rest-text').textContent}`);
    if (kind === 'away') byId('rest-go').focus();
  }
}

const sentence = words => { const trimmed = words.trim(); return trimmed && trimmed[0].toUpperCase() + trimmed.slice(1) + (/[.!?]$/.test(trimmed) ? '' : '.'); };

function clearQuestion() {
  shown = null;
  closeWhy();
}

function showQuestion(question) {
  const inView = document.querySelector('main').contains(document.activeElement) || document.activeElement === document.body;
  shown = question;
  shownAt = performance.now();
  hiddenFor = 0;
  hiddenSince = document.hidden ? shownAt : 0;
  closeWhy();
  text(byId('prompt'), question.prompt || 'Which one is it?');
  byId('task').replaceChildren(...(question.task ? ['for ', h('b', {}, question.task)] : []));
  const example = byId('example');
  showExample(example, question.fields);
  example.dataset.lease = question.lease;
  const choices = byId('choices');
  choices.className = question.choices.length > 4 ? 'choices many' : 'choices';
  // Buttons are made anew for each question: a click that began on an old one answers nothing.
  const keys = keysOf(question.choices);
  choices.replaceChildren(...question.choices.map((label, i) => h('button', {
    type: 'button', 'aria-keyshortcuts': keys[i], onclick: () => answer(question, label),
  }, h('span', { dir: 'auto' }, label), keys[i] && h('kbd', { 'aria-hidden': 'true' }, keys[i]))));
  // Screen readers read the new example; focus elsewhere (header, guidelines, a dialog) is left alone.
  if (inView) {
    example.focus({ preventScroll: true });
    scrollTo({ top: 0 });
  }
}

/** The keys of choices: 1 to 9 in their order and 0 for the tenth; where the choices are digits, each is its own key. */
function keysOf(choices) {
  return choices.every(label => /^\d$/.test(label)) ? choices : choices.map((_, i) => (i < 10 ? '1234567890'[i] : undefined));
}

function tick() {
  const now = Date.now(), active = now - lastActive;
  for (const question of held) {
    if (question.deadline > now && question.deadline - now < question.seconds * 500 && active < question.seconds * 500) renew(question);
  }
  if (held.some(question => question.deadline <= now)) {
    const lost = held[0].deadline <= now;
    held = held.filter(question => question.deadline > now);
    remember();
    if (lost && none?.kind !== 'offline' && !waiting().length) away = true;
    look();
    return;
  }
  const left = held.length && !away ? Math.max(0, held[0].deadline - now) / 1000 : 0;
  byId('left').className = left && left < 60 ? 'soon' : '';
  text(byId('left'), left ? `${span(left < 60 ? left : left + 30)} left` : '');
}

/** The line under the choices; kind is sending, saved, note or warn. */
function say(kind, words, aloud = words) {
  const line = byId('saved');
  line.className = kind;
  line.replaceChildren(...(kind === 'saved' ? [h('span', { 'aria-hidden': 'true' }, '\u2713 ')] : []), words);
  if (aloud) speak(aloud);
}

function showSession() {
  const middle = median(session);
  text(byId('session'), session.length ? `${plural(session.length, 'answer')} this session, median ${oneDecimal(middle)} s` : '');
}

// Answering ---------------------------------------------------------------------------------------------------------------

function mayAnswer(question) {
  if (question !== shown || undoing || away || byId('ask').hidden || question.deadline <= Date.now()) return false;
  if (performance.now() - shownAt >= SETTLE) return true;
  const line = byId('saved'), aside = ' \u00b7 second press ignored';
  if (!waiting().length && !line.textContent.endsWith(aside)) line.append(aside);
  return false;
}

function leave(question, entry) {
  const unseen = hiddenFor + (hiddenSince ? performance.now() - hiddenSince : 0);
  const seconds = Math.max(0, Math.round((performance.now() - shownAt - unseen) / 100) / 10);
  accepted = [...accepted.slice(-50), question.lease];
  drop(question.lease);
  give({ lease: question.lease, ticket: question.ticket, annotator: name, seconds, ...entry });
  look();
}

function answer(question, label) {
  if (!mayAnswer(question)) return;
  say('sending', `Sending: ${label}`, '');
  leave(question, { label });
}

function skip(question) {
  if (!question || !mayAnswer(question)) return;
  say('sending', 'Skipping', '');
  leave(question, { skip: true });
}

watchOutbox({
  saved(entry, reply) {
    if (reply.labels) spend(reply.labels);
    notice('connection');
    if (!entry.skip) {
      session = [...session.slice(-4999), entry.seconds];
      tab.set('quorate.session', session);
      showSession();
    }
    if (!waiting().length) {
      const words = entry.skip ? 'Skipped' : `Saved: ${entry.label}`;
      say('saved', words, `${words}.${byId('ask').hidden ? '' : ' Next question.'}`);
      if (!fetching) look();
    }
  },
  refused(entry, problem) {
    const what = entry.skip ? 'Your skip' : `Your answer \u201c${entry.label}\u201d`;
    const why = problem.reason === 'daily-limit' ? 'was not counted: you have given as many answers in 24 hours as one person may. Somebody else is asked.'
      : problem.status === 409 ? 'was not counted: this question was already answered otherwise.'
      : problem.status === 410 && problem.detail ? `was not counted: ${problem.detail.replace(/^lease: /, '')}.`
        : `was not counted. ${sentence(problem.detail || `The server replied with status ${problem.status}`)}`;
    say('warn', 'Not counted', '');
    notice(entry.lease, 'refused', `${what} ${why}`, 'All right', () => notice(entry.lease));
    look();
  },
  state(problem, number) {
    if (!problem) { if (!number) notice('connection'); return; }
    const many = `${plural(number, 'answer')} ${number === 1 ? 'waits' : 'wait'} in this browser`;
    say('warn', 'Not sent yet', '');
    if (problem.status === 401) notice('connection', 'warn', `${many} until your key is given.`);
    else if (problem.status === 503) notice('connection', 'warn', `The server takes no answers at the moment${problem.detail ? ` (${problem.detail.replace(/\.$/, '')})` : ''}. ${many}, to be sent by itself.`, 'Try now', flush);
    else if (problem.status === 403) notice('connection', 'warn', `The server refuses this key. ${problem.detail} ${many}.`, 'Try now', flush);
    else notice('connection', 'quiet', `No connection. ${many}, to be sent in order when it is back.`, 'Try now', flush);
  },
});

async function undo() {
  if (undoing || !name) return;
  undoing = true; // a key pressed now must not answer the question that is about to be replaced
  try {
    await flush();
    if (waiting().length) { say('note', 'Undo works again once the waiting answers are sent.'); return; }
    const reply = await post('/v1/undo', { annotator: name });
    if (reply.labels) spend(reply.labels);
    session = session.slice(0, -1);
    tab.set('quorate.session', session);
    showSession();
    away = false;
    if (reply.question) {
      accepted = accepted.filter(lease => lease !== reply.question.lease);
      hold(reply.question, true);
    }
    const label = reply.undone?.label;
    say('note', `Undone${label ? `: ${label}` : ''}${reply.question ? '. Choose again.' : ''}`);
  } catch (problem) {
    say('note', problem.status === 409 ? sentence(problem.detail || 'Nothing to undo') : problem.status === 0 ? 'No connection: look at the last answer again before you undo.' : sentence(problem.detail || 'Undo failed'));
  } finally {
    undoing = false;
    look();
  }
}

// Why ---------------------------------------------------------------------------------------------------------------------

function closeWhy() {
  if (reasons && shown) showExample(byId('example'), shown.fields);
  reasons = null;
  byId('why').hidden = true;
  byId('explain').setAttribute('aria-expanded', 'false');
}

// A feature's name as a person says it; the field it is of in soft letters.
function called(feature, fields) {
  if (feature === 'constant') return ['before anything is read'];
  const field = fields.map(f => f.name).filter(n => n && feature.startsWith(n)).sort((a, b) => b.length - a.length)
    .find(n => feature === n || '^#='.includes(feature[n.length]));
  if (field === undefined || feature === field) return [feature];
  const mark = feature[field.length], rest = feature.slice(field.length + 1);
  const word = mark === '#' ? `letters \u201c${rest}\u201d` : rest;
  return fields.length > 1 || mark === '=' ? [h('span', { class: 'soft' }, `${field} `), word] : [word];
}

const signed = n => (n > 0 ? '+' : n < 0 ? '\u2212' : '') + Math.abs(n).toFixed(2);

// Parts of one sign stand one after the other, shared first, right of the middle for and left of it against.
function bar(feature, most) {
  const rects = [];
  let right = 50, left = 50;
  for (const key of ['shared', 'own']) {
    const width = 48 * Math.abs(feature[key]) / most;
    if (!width) continue;
    if (feature[key] > 0) { rects.push([key, right, width]); right += width; } else { left -= width; rects.push([key, left, width]); }
  }
  return svg('svg', { viewBox: '0 0 100 10', preserveAspectRatio: 'none', class: 'bars', 'aria-hidden': 'true' },
    svg('rect', { class: 'axis', x: 49.8, width: 0.4, height: 10 }), rects.map(([kind, x, width]) => svg('rect', { class: kind, x, width, y: 2, height: 6 })));
}

// The probability on a line from 0 to 1, and where the answer changes.
function scale({ probability, threshold, towards }) {
  const at = p => 2 + 96 * p;
  const words = `${percent(probability, 0)} ${towards}; ${towards} begins at ${percent(threshold, 0)}`;
  return h('figure', { class: 'scale', role: 'img', 'aria-label': words },
    svg('svg', { viewBox: '0 0 100 8', 'aria-hidden': 'true' },
      svg('rect', { class: 'axis', x: 2, y: 3.8, width: 96, height: 0.4 }),
      svg('rect', { class: 'yes', x: at(threshold), y: 3.4, width: 98 - at(threshold), height: 1.2 }),
      svg('rect', { class: 'tick', x: at(threshold) - 0.2, y: 1, width: 0.4, height: 6 }),
      svg('circle', { class: 'here', cx: at(probability), cy: 4, r: 1.6 })),
    h('figcaption', {}, h('span', {}, '0 %'), h('span', {}, words), h('span', {}, '100 %')));
}

function whyParts(question, reply) {
  const features = [...reply.features ?? []].sort((a, b) => Math.abs(total(b)) - Math.abs(total(a)));
  const strongest = features.filter(feature => total(feature) !== 0 || feature.own !== 0).slice(0, MOST_REASONS);
  const most = Math.max(1e-9, ...strongest.map(f => Math.abs(f.shared) + Math.abs(f.own)));
  const towards = reply.towards;
  return [
    reply.why && h('p', { class: 'lead' }, sentence(reply.why)),
    reply.threshold != null && scale(reply),
    strongest.length > 0 && h('p', { class: 'legend' }, h('mark', { class: 'shared' }, 'blue'), ' is learned from all tasks, ', h('mark', { class: 'own' }, 'yellow'), question.task ? [' from ', h('b', {}, question.task), ' alone.'] : ' from this task alone.'),
    strongest.length > 0 && h('table', { class: 'reasons' },
      h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'what counts'), h('th', { scope: 'col', class: 'sides' }, h('span', {}, 'against'), h('span', {}, towards ? `for ${towards}` : 'for')),
        h('th', { scope: 'col', class: 'r' }, 'all'), h('th', { scope: 'col', class: 'r' }, 'own'))),
      h('tbody', {}, strongest.map(feature => h('tr', {}, h('th', { scope: 'row' }, h('mark', { class: side(feature) }, called(feature.name, question.fields))),
        h('td', {}, bar(feature, most)), h('td', { class: 'r' }, signed(feature.shared)), h('td', { class: 'r' }, signed(feature.own)))))),
  ];
}

async function why() {
  const question = shown;
  if (!question || byId('explain').hidden) return;
  if (!byId('why').hidden) { closeWhy(); return; }
  byId('why').hidden = false;
  byId('explain').setAttribute('aria-expanded', 'true');
  const box = byId('why-text');
  box.replaceChildren(h('p', { class: 'soft' }, 'One moment'));
  let parts, reply = null, words;
  try {
    reply = await get(`/v1/explain/${encodeURIComponent(question.ticket)}`);
    if (reply.audit_or_hidden) reply = null;
  } catch (problem) {
    if (![403, 404].includes(problem.status)) words = `The explanation did not arrive. ${sentence(problem.detail)}`;
  }
  if (shown !== question || byId('why').hidden) return;
  if (reply) {
    parts = whyParts(question, reply);
    reasons = reply;
    showExample(byId('example'), question.fields, reply.features ?? []);
    words = reply.why;
  } else {
    words ??= 'There is no explanation for this question.';
    parts = [h('p', { class: 'lead' }, words)];
  }
  box.replaceChildren(...parts.filter(Boolean));
  if (words) speak(words);
}

// Guidelines --------------------------------------------------------------------------------------------------------------

async function guidelines(open = byId('guidelines').hidden) {
  const panel = byId('guidelines');
  if (panel.hidden === !open) return;
  panel.hidden = !open;
  byId('desk').classList.toggle('with-guidelines', open);
  byId('guide').setAttribute('aria-expanded', String(open));
  if (!open) { byId('guide').focus({ preventScroll: true }); return; }
  panel.focus({ preventScroll: matchMedia('(min-width: 70em)').matches });
  const box = byId('guidelines-text');
  if (box.childElementCount) return;
  try {
    box.replaceChildren(...markdown(await getText('/v1/guidelines')));
  } catch (problem) {
    const words = problem.status === 404 ? 'No guidelines were written for this one.' : `The guidelines did not arrive. ${sentence(problem.detail)}`;
    box.replaceChildren(h('p', { class: 'soft' }, words));
    setTimeout(() => { if (panel.hidden) box.replaceChildren(); }, 10000);
  }
}

// The name ----------------------------------------------------------------------------------------------------------------

function askName() {
  const dialog = byId('who');
  byId('who-name').value = name;
  text(dialog.querySelector('button'), name ? 'Keep' : 'Begin');
  if (!dialog.open) dialog.showModal();
  byId('who-name').select();
}

byId('who').addEventListener('cancel', event => { if (!name) event.preventDefault(); });
byId('who').querySelector('form').addEventListener('submit', event => {
  const typed = byId('who-name').value.trim();
  if (!typed) { event.preventDefault(); return; }
  if (typed === name) return;
  const first = !name;
  name = typed;
  browser.set('quorate.name', name);
  held = []; // they were leased to the old name, and return to the team when their time is up
  none = null;
  away = false;
  if (!first) { session = []; tab.set('quorate.session', session); showSession(); say('note', `You answer as ${name} now.`); }
  remember();
  look();
});
byId('person').addEventListener('click', askName);

// Keys --------------------------------------------------------------------------------------------------------------------

// Digits by what is typed, or by their place on keyboards that need shift for them; letters by place where no Latin ones are typed.
function keyOf(event) {
  if (/^[0-9]$/.test(event.key)) return event.key;
  const digit = /^Digit([0-9])$/.exec(event.code);
  if (digit && !event.shiftKey) return digit[1];
  if (/^[a-z]$/i.test(event.key)) return event.key.toLowerCase();
  return /^Key([A-Z])$/.exec(event.code)?.[1].toLowerCase();
}

addEventListener('keydown', event => {
  lastActive = Date.now();
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
  if (event.target.closest?.('input, textarea, select, [contenteditable], dialog')) return;
  if (event.key === 'Escape') { if (!byId('guidelines').hidden) guidelines(false); else closeWhy(); return; }
  const key = keyOf(event), question = shown;
  if (key >= '0' && key <= '9') {
    const label = question?.choices[keysOf(question.choices).indexOf(key)];
    if (label !== undefined) { event.preventDefault(); answer(question, label); }
    return;
  }
  const act = { s: () => skip(question), u: undo, w: why, g: () => guidelines() }[key];
  if (act && name) { event.preventDefault(); act(); }
});
byId('skip').addEventListener('click', () => skip(shown));
byId('undo').addEventListener('click', undo);
byId('explain').addEventListener('click', why);
byId('guide').addEventListener('click', () => guidelines());
byId('guide-close').addEventListener('click', () => guidelines(false));
byId('rest-go').addEventListener('click', () => { away = false; none = null; look(); });

for (const kind of ['pointerdown', 'pointermove', 'wheel', 'touchstart', 'scroll']) addEventListener(kind, () => { lastActive = Date.now(); }, { passive: true, capture: true });
document.addEventListener('visibilitychange', () => {
  if (document.hidden) hiddenSince = performance.now();
  else { if (hiddenSince) hiddenFor += performance.now() - hiddenSince; hiddenSince = 0; look(); }
});
addEventListener('online', look);
setInterval(tick, 1000);

if (name) recall();
showSession();
look();
flush();
if (!name) askName();

// The team view: figures, people, tasks, open questions and disagreements, live.
import { follow, get, post, put, skew } from './api.js';
import { byId, count, h, median, notice, oneDecimal, percent, plural, showBudget, span, speak, text } from './dom.js';
import { drawChart } from './chart.js';
import { showExample } from './example.js';

const MOST_QUESTIONS = 30;
let status = null;
let arrived = 0; // figures, from an event or a reply
const drawn = new Map();

// Makes a part anew only if what it shows changed, so that focus, selection and scrolling stay.
function part(id, data, make) {
  const key = JSON.stringify(data);
  if (drawn.get(id) === key) return;
  drawn.set(id, key);
  make(byId(id));
}

// A sortable table. Columns: {key, title, right, show(row), of(row) to sort by}.
const sorted = { tasks: ['labels', -1], people: ['answers', -1], questions: ['waiting_seconds', -1] };
function table(id, columns, rows) {
  const [by, way] = sorted[id], column = columns.find(c => c.key === by);
  const value = row => (column.of ?? (r => r[by]))(row) ?? -Infinity;
  const inOrder = [...rows].sort((a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0) * way);
  part(id, [inOrder.map(row => columns.map(c => c.plain?.(row) ?? row[c.key])), by, way], host => {
    const focused = document.activeElement?.dataset?.sort;
    const inside = host.contains(document.activeElement);
    host.parentElement.hidden = !rows.length;
    host.replaceChildren(
      h('thead', {}, h('tr', {}, columns.map(c => h('th', { scope: 'col', class: c.right ? 'r' : null, 'aria-sort': c.key === by ? (way < 0 ? 'descending' : 'ascending') : null },
        h('button', { type: 'button', 'data-sort': c.key, onclick() { sorted[id] = [c.key, c.key === by ? -way : c.right ? -1 : 1]; table(id, columns, rows); } }, c.title))))),
      h('tbody', {}, inOrder.map(row => h('tr', {}, columns.map((c, i) => h(i ? 'td' : 'th', { class: c.right ? 'r' : null, scope: i ? null : 'row', dir: i ? null : 'auto' }, c.show ? c.show(row) : String(row[c.key])))))));
    if (inside && focused) [...host.querySelectorAll('button')].find(button => button.dataset.sort === focused)?.focus();
  });
}

const none = '\u2013';
const PEOPLE = [
  { key: 'name', title: 'who' },
  { key: 'answers', title: 'labels', right: true, show: p => count(p.answers) },
  { key: 'agreement', title: 'agree', right: true, show: p => (p.agreement == null ? none : percent(p.agreement, 0)) },
  { key: 'skips', title: 'skipped', right: true, show: p => count(p.skips) },
  { key: 'median_seconds', title: 'seconds', right: true, show: p => (p.median_seconds == null ? none : oneDecimal(p.median_seconds)) },
  { key: 'holds', title: 'holds', right: true, show: p => (p.holds ? h('span', { class: 'pill' }, count(p.holds)) : none) },
];
const TASKS = [
  { key: 'name', title: 'task' },
  { key: 'examples', title: 'examples', right: true, show: t => count(t.examples) },
  { key: 'labels', title: 'labels', right: true, show: t => count(t.labels) },
  { key: 'mistakes', title: 'mistakes', right: true, show: t => (t.labels ? count(t.mistakes) : none) },
];
const untilOf = q => (q.until == null ? null : q.until - (Date.now() + skew) / 1000);
const heldBy = q => (q.holder == null ? [h('span', { class: 'soft' }, 'waits')] : [h('b', {}, q.holder), h('span', { class: 'soft keep' }, untilOf(q) == null ? '' : `, ${span(untilOf(q))} left`)]);
const QUESTIONS = [
  { key: 'ticket', title: 'question', show: q => String(q.ticket) },
  { key: 'task', title: 'task' },
  { key: 'holder', title: 'held by', show: heldBy, plain: q => heldBy(q).map(node => node.textContent) },
  { key: 'waiting_seconds', title: 'waiting', right: true, show: q => span(q.waiting_seconds) },
  { key: 'probability', title: 'probability', right: true, show: q => (q.probability == null ? none : percent(q.probability, 0)) },
];

const unaudited = 'not measured: the server was made without --audit, a share of questions drawn at random';

function figures(s) {
  const { bought, limit, waiting, audits, rate } = s.labels;
  showBudget(s.labels);
  text(byId('name'), s.name || 'Team');
  text(byId('about'), [s.learner, plural(s.examples, 'example'), s.task_count > 1 ? plural(s.task_count, 'task') : ''].filter(Boolean).join(' \u00b7 '));
  text(byId('accuracy'), s.accuracy ? percent(s.accuracy.value) : none);
  text(byId('accuracy-more'), s.accuracy ? `95\u00a0% interval ${percent(s.accuracy.low)} to ${percent(s.accuracy.high)}, ${plural(s.accuracy.audits, 'audit')}` : s.audited === false ? unaudited : 'not measured yet: audits are questions drawn at random');
  const said = (what, m) => `${what} ${percent(m.value, 0)} (${percent(m.low, 0)} to ${percent(m.high, 0)})`;
  text(byId('measures'), [
    s.always && `always ${s.always.label}: ${percent(s.always.accuracy)}`,
    ...Object.entries(s.measures ?? {}).map(([name, m]) => said(name.replaceAll('_', ' '), m)),
    s.when_each_came && said('when each example came:', s.when_each_came),
  ].filter(Boolean).join(' \u00b7 '));
  text(byId('labels'), count(bought));
  const left = limit == null ? 'no limit' : bought > limit ? `${count(bought - limit)} over the limit` : `${count(limit - bought)} left of ${count(limit)}`;
  text(byId('labels-more'), `${left} \u00b7 ${rate ? `at most ${rate} \u00b7 ` : ''}${count(waiting)} waiting \u00b7 ${plural(audits, 'audit')}`);
  byId('audits-left').hidden = !s.audits_left;
  if (s.audits_left) text(byId('audits-left-text'), `${plural(s.audits_left, 'label')} ${s.audits_left === 1 ? 'waits' : 'wait'} for audits of examples to come. If none will come:`);
  const f = s.forecast;
  text(byId('forecast-title'), f ? `To reach ${percent(f.target, Number.isInteger(Math.round(1e6 * f.target) / 1e4) ? 0 : 1)}` : 'Forecast');
  text(byId('forecast'), f ? (f.labels <= bought ? 'reached' : `about ${count(f.labels)}`) : none);
  text(byId('forecast-more'), f ? `labels in all, ${count(f.low)} to ${count(f.high)}${f.labels > bought ? `; ${count(f.labels - bought)} more` : ''}` : 'too early to say how many labels a target needs');
  const people = s.annotators.filter(p => p.answers > 0 && p.median_seconds != null);
  // The middle of the team: each person counts once, however many answers.
  const pace = median(people.map(p => p.median_seconds));
  text(byId('pace'), pace == null ? none : oneDecimal(pace));
  text(byId('pace-more'), pace == null ? 'no answers yet' : `median of ${plural(people.length, 'person', 'people')}`);
}

function decisions(list, all) {  // the status lists the first hundred
  byId('disagreements-tile').hidden = !list.length;
  text(byId('disagreements-count'), count(all ?? list.length));
  part('disagreements', list, host => {
    const focused = document.activeElement?.dataset?.decide, inside = host.contains(document.activeElement);
    host.replaceChildren(...list.map(d => {
      const said = h('p', { class: 's', role: 'status' });
      const labels = d.choices ?? [...new Set(d.answers.map(a => a.label))];
      const buttons = labels.map(label => h('button', { type: 'button', 'data-decide': `${d.ticket} ${label}`, onclick: () => decide(d, label, buttons, said) }, label));
      const example = h('div', { class: 'sample' });
      const show = fields => { showExample(example, fields); example.classList.add('sample'); };
      if (d.fields) show(d.fields);
      else if (d.fields === undefined) get(`/v1/answers/${d.ticket}`).then(reply => reply.fields && show(reply.fields), () => {}); // too long for the status
      return h('div', { class: 'dispute' },
        h('p', { class: 'which' }, h('b', { dir: 'auto' }, d.example), h('span', { class: 'soft' }, d.task ? ` for ${d.task}` : '')),
        d.fields !== null && example,
        h('ul', { class: 'votes' }, d.answers.map(a => h('li', {}, h('span', { class: 'soft' }, `${a.annotator}: `), h('b', { dir: 'auto' }, a.label)))),
        h('div', { class: 'decide', role: 'group', 'aria-label': `Decide ${d.example}` }, h('span', { class: 'soft' }, 'It is'), buttons), said);
    }));
    if (inside && focused) ([...host.querySelectorAll('button')].find(b => b.dataset.decide === focused) ?? host.querySelector('button') ?? byId('team')).focus();
  });
}

const sentence = problem => (problem.status === 403 ? 'Only the owner may do this. ' : problem.status === 0 ? 'No connection. ' : '') + problem.detail;

async function decide(d, label, buttons, said) {
  buttons.forEach(button => { button.disabled = true; });
  try {
    await post('/v1/decide', { ticket: d.ticket, label });
    text(said, `Saved: ${label}`);
    speak(`Saved: ${d.example} is ${label}.`);
    refresh();
  } catch (problem) {
    buttons.forEach(button => { button.disabled = false; });
    text(said, sentence(problem));
  }
}

function draw() {
  const s = status;
  byId('grid').hidden = false;
  figures(s);
  notice('closed', 'warn', s.taking_answers ? '' : `The server takes no answers at the moment${s.problem ? `: ${s.problem}` : ''}. Predictions go on.`);
  part('chart', [s.curve, s.audited, s.forecast?.target, byId('chart').clientWidth], host => drawChart(host, s.curve, s.forecast?.target, s.audited !== false));
  byId('chart-table').hidden = !s.curve.length;
  part('curve', s.curve, body => body.replaceChildren(...[...s.curve].reverse().map(p => h('tr', {}, h('td', { class: 'r' }, count(p.labels)), h('td', { class: 'r' }, percent(p.value)), h('td', { class: 'r' }, `${percent(p.low)} to ${percent(p.high)}`)))));
  table('people', PEOPLE, s.annotators);
  text(byId('people-none'), s.annotators.length ? '' : 'Nobody has answered yet. Share the address of the labelling view.');
  table('tasks', TASKS, s.tasks);
  text(byId('tasks-count'), s.tasks.length < s.task_count ? `${count(s.tasks.length)} of ${count(s.task_count)}, those with most labels` : count(s.task_count));
  text(byId('tasks-none'), s.tasks.length ? '' : 'Tasks appear with the first examples.');
  questions();
  decisions(s.disagreements ?? [], s.disagreement_count);
}

function questions() {
  if (!status) return;
  const list = status.questions;
  text(byId('questions-count'), count(list.length));
  table('questions', QUESTIONS, list.slice(0, MOST_QUESTIONS));
  text(byId('questions-none'), !list.length ? 'No question is open.' : list.length > MOST_QUESTIONS ? `and ${count(list.length - MOST_QUESTIONS)} more` : '');
}

function use(fresh) {
  arrived += 1;
  status = fresh;
  draw();
}

async function refresh() {
  const before = arrived;
  try {
    const fresh = await get('/v1/status');
    if (arrived === before) use(fresh); // else an event has told what is newer
    notice('status');
  } catch (problem) {
    if (!status) notice('status', 'quiet', `The figures did not arrive. ${sentence(problem)}`.trim(), 'Try now', refresh);
  }
}

byId('limit-open').addEventListener('click', () => {
  const form = byId('limit-form'), open = form.hidden;
  form.hidden = !open;
  byId('limit-open').setAttribute('aria-expanded', String(open));
  if (open) { byId('limit').value = status?.labels.limit ?? ''; byId('limit').select(); }
});
byId('limit-form').addEventListener('submit', async event => {
  event.preventDefault();
  const said = byId('limit-said');
  try {
    use(await put('/v1/limits', { labels: byId('limit').valueAsNumber }));
    text(said, 'Saved');
    byId('limit-form').hidden = true;
    byId('limit-open').setAttribute('aria-expanded', 'false');
    byId('limit-open').focus();
  } catch (problem) { text(said, sentence(problem)); }
});

byId('audits-close').addEventListener('click', async () => {
  try {
    use(await put('/v1/limits', { labels: status.labels.limit, audits: false }));
    text(byId('limit-said'), 'They are asked for what the learner is unsure of');
    byId('limit-open').focus();
  } catch (problem) { text(byId('limit-said'), sentence(problem)); }
});

new ResizeObserver(() => { if (status) draw(); }).observe(byId('chart'));
setInterval(questions, 1000); // the leases' times run on between events
refresh();
follow('/v1/events', (event, data) => { if (event === 'status') use(data); }, state => {
  const link = byId('link');
  text(link, state);
  link.className = `link ${state}`;
});

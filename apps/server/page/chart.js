// Accuracy against labels: a line with its interval as a band. SVG drawn at the size it is shown, so text keeps its size.
import { count, h, percent, svg } from './dom.js';

const HEIGHT = 264, LEFT = 52, RIGHT = 66, TOP = 14, BOTTOM = 30;
const STEPS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5];

function niceStep(range, most) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, range / most)));
  return [1, 2, 5, 10].map(n => n * power).find(step => range / step <= most) ?? 10 * power;
}

/** One sentence that says what the picture shows. */
export function inWords(curve) {
  if (!curve.length) return 'No accuracy is measured yet.';
  const first = curve[0], last = curve.at(-1);
  const now = `${percent(last.value)} at ${count(last.labels)} labels, 95 % interval ${percent(last.low)} to ${percent(last.high)}`;
  return curve.length < 2 ? `Accuracy is ${now}.`
    : `Accuracy went from ${percent(first.value)} at ${count(first.labels)} labels to ${now}.`;
}

/** Draws `curve` into `host`, with a line at `target` (a fraction, or undefined). */
export function drawChart(host, curve, target, audited) {
  if (!curve.length) {
    host.replaceChildren(h('p', { class: 'soft none' }, audited
      ? 'The first audits are still to come: a few questions are drawn at random, and their answers measure the accuracy.'
      : 'Nothing measures the accuracy here. A server that is made with --audit 0.1 draws a tenth of its questions at random for that.'));
    return;
  }
  const width = Math.max(240, host.clientWidth), right = width - RIGHT, bottom = HEIGHT - BOTTOM;
  const most = Math.max(1, curve.at(-1).labels);
  const lowest = Math.min(...curve.map(point => point.low), target ?? 1);
  const step = STEPS.find(size => (1 - lowest) / size <= 5) ?? 0.5;
  const floor = Math.max(0, Math.floor(lowest / step + 1e-9) * step);
  const x = labels => LEFT + (right - LEFT) * labels / most;
  const y = value => TOP + (bottom - TOP) * (1 - Math.min(1, value)) / (1 - floor || 1);
  const point = (at, key) => `${x(at.labels).toFixed(1)} ${y(at[key]).toFixed(1)}`;
  const line = (points, key) => points.map(at => point(at, key)).join('L');
  const digits = step < 0.01 ? 1 : 0, last = curve.at(-1), parts = [];
  for (let i = 0; floor + i * step <= 1 + 1e-9; i++) {
    const at = y(floor + i * step);
    parts.push(svg('path', { class: 'rule', d: `M${LEFT} ${at}H${right}` }),
      svg('text', { x: LEFT - 8, y: at + 4, 'text-anchor': 'end' }, percent(floor + i * step, digits)));
  }
  const gap = niceStep(most, Math.max(2, Math.floor((right - LEFT) / 90)));
  for (let labels = 0; labels <= most; labels += gap) {
    parts.push(svg('text', { x: x(labels), y: HEIGHT - 8, 'text-anchor': 'middle' }, count(labels)));
  }
  if (target > floor && target <= 1) {
    parts.push(svg('path', { class: 'target', d: `M${LEFT} ${y(target)}H${right}` }),
      svg('text', { x: right + 8, y: y(target) + (Math.abs(y(target) - y(last.value)) < 15 ? (target > last.value ? -6 : 18) : 4) }, 'target'));
  }
  parts.push(svg('path', { class: 'band', d: `M${line(curve, 'high')}L${line([...curve].reverse(), 'low')}Z` }),
    svg('path', { class: 'line', d: `M${line(curve, 'value')}` }),
    svg('circle', { class: 'dot', cx: x(last.labels), cy: y(last.value), r: 4.5 }),
    svg('text', { class: 'now', x: x(last.labels) + 9, y: y(last.value) + 4 }, percent(last.value)));
  const reading = svg('g', { class: 'reading', visibility: 'hidden' }), words = svg('text', { y: TOP + 2, 'text-anchor': 'middle' });
  const rule = svg('path', {}), dot = svg('circle', { r: 4 });
  reading.append(rule, dot, words);
  const picture = svg('svg', { viewBox: `0 0 ${width} ${HEIGHT}`, height: HEIGHT, role: 'img', 'aria-label': inWords(curve) }, parts, reading);
  const hide = () => reading.setAttribute('visibility', 'hidden');
  picture.addEventListener('pointerleave', hide);
  picture.addEventListener('pointermove', event => {
    const at = event.offsetX, near = curve.reduce((a, b) => (Math.abs(x(b.labels) - at) < Math.abs(x(a.labels) - at) ? b : a));
    const cx = x(near.labels);
    rule.setAttribute('d', `M${cx} ${TOP + 8}V${bottom}`);
    dot.setAttribute('cx', cx);
    dot.setAttribute('cy', y(near.value));
    words.setAttribute('x', Math.min(Math.max(cx, LEFT + 100), right - 70));
    words.textContent = `${count(near.labels)} labels: ${percent(near.value)} (${percent(near.low)} to ${percent(near.high)})`;
    reading.setAttribute('visibility', 'visible');
  });
  host.replaceChildren(picture);
}

// Elements made from data. Text becomes text nodes only; no string is ever parsed as markup.

const fill = (element, props, children) => {
  for (const [key, value] of Object.entries(props ?? {})) {
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (value != null && value !== false) element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.flat(9).filter(child => child != null && child !== false));
  return element;
};

/** An element with attributes, listeners (`onclick`) and children; strings among the children become text. */
export const h = (tag, props, ...children) => fill(document.createElement(tag), props, children);

/** The same for SVG. */
export const svg = (tag, props, ...children) => fill(document.createElementNS('http://www.w3.org/2000/svg', tag), props, children);

export const byId = id => document.getElementById(id);

/** Sets text, and touches the page only when it changes. */
export const text = (element, value) => { if (element.textContent !== value) element.textContent = value; };

const timers = new WeakMap();
/** Speaks to screen readers, politely. The region is emptied first, so the same words are spoken twice if they come twice. */
export function speak(words) {
  const live = byId('live');
  clearTimeout(timers.get(live));
  live.textContent = '';
  timers.set(live, setTimeout(() => { live.textContent = words; }, 60));
}

const whole = new Intl.NumberFormat('en');
export const count = n => whole.format(n);
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;
const NBSP = '\u00a0';
export const percent = (p, digits = 1) => `${(100 * p).toFixed(digits)}${NBSP}%`;
export const oneDecimal = n => (n < 100 ? n.toFixed(1) : count(Math.round(n)));

/** 41 s, 4 min, 2 h, 3 days: rounded down, at least 0. */
export function span(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) return `${s}${NBSP}s`;
  if (s < 3600) return `${Math.floor(s / 60)}${NBSP}min`;
  if (s < 172800) return `${Math.floor(s / 3600)}${NBSP}h`;
  return `${Math.floor(s / 86400)}${NBSP}days`;
}

/** Median of numbers; null of none. */
export function median(numbers) {
  if (!numbers.length) return null;
  const sorted = [...numbers].sort((a, b) => a - b), middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The header's bar: labels bought of the limit. */
export function showBudget({ bought, limit, waiting }) {
  byId('budget').hidden = false;
  text(byId('budget-text'), limit == null ? count(bought) : `${count(bought)} of ${count(limit)}`);
  text(byId('budget-unit'), (limit ?? bought) === 1 ? ' label' : ' labels');
  const bar = byId('budget-bar');
  bar.hidden = limit == null;
  bar.max = Math.max(1, limit ?? 1);
  bar.value = Math.min(bought, bar.max);
  byId('budget').title = waiting ? `${plural(waiting, 'question')} waiting` : '';
}

/** A line above the view with an optional button; `kind` is quiet, warn or refused. One line a key. */
export function notice(key, kind, words, button, act) {
  const box = byId('notices'), old = [...box.children].find(line => line.dataset.key === key);
  if (!words) { old?.remove(); return; }
  if (old?.dataset.words === words) return;
  const line = h('div', { class: `notice ${kind}` }, h('p', {}, words), button && h('button', { type: 'button', onclick: act }, button));
  line.dataset.key = key;
  line.dataset.words = words;
  if (old) old.replaceWith(line); else box.append(line);
  speak(words);
}

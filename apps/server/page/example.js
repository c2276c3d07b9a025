// An example as a person reads it: text, a table of columns, an image; and the words that an explanation marks in it.
import { h } from './dom.js';

const MOST_PIXELS = 4096 * 4096;

/** A canvas with the grey values "w,h:0 12 255 ..." (0 black, 255 white); null if they are not of that form. */
export function greyImage(value, name) {
  const form = /^(\d{1,4}),(\d{1,4}):([\d\s.]*)$/.exec(value);
  if (!form) return null;
  const width = Number(form[1]), height = Number(form[2]), greys = form[3].split(/\s+/).filter(Boolean).map(Number);
  if (!width || width * height > MOST_PIXELS || greys.length !== width * height || greys.some(Number.isNaN)) return null;
  const canvas = h('canvas', { width, height, class: 'image', role: 'img', 'aria-label': `${name || 'image'}, ${width} by ${height} pixels` });
  const drawn = new ImageData(width, height);
  greys.forEach((grey, i) => drawn.data.set([grey, grey, grey, 255], 4 * i));
  canvas.getContext('2d').putImageData(drawn, 0, 0);
  canvas.style.aspectRatio = `${width} / ${height}`;
  return canvas;
}

function image(value, name) {
  if (/^data:image\/[a-z0-9.+-]+[;,]/i.test(value)) return h('img', { src: value, alt: name || 'image', class: 'image' });
  return greyImage(value, name) ?? h('p', { class: 'soft' }, `This image cannot be shown (${value.length} characters of another form).`);
}

// Which of a field's characters a feature covers. Names are the engine's: FIELD^word word, FIELD#letters, FIELD=value, FIELD.
function ranges(field, value, features) {
  const found = [], cover = (from, to, feature) => found.push({ from, to, feature });
  let words;
  const list = () => (words ??= [...value.matchAll(/[\p{L}\p{M}]{2,}/gu)].map(m => ({ from: m.index, to: m.index + m[0].length, low: m[0].toLowerCase() })));
  for (const feature of features) {
    const { name } = feature, own = name.startsWith(field.name), rest = own ? name.slice(field.name.length) : '';
    if (own && rest === '') { if (field.kind !== 'text') cover(0, value.length, feature); continue; }
    if (own && rest === `=${value}`) { cover(0, value.length, feature); continue; }
    if (field.kind !== 'text') continue;
    if (own && rest[0] === '#') {
      const letters = rest.slice(1);
      for (const word of list()) {
        for (let at = ` ${word.low} `.indexOf(letters); at >= 0; at = ` ${word.low} `.indexOf(letters, at + 1)) {
          cover(Math.max(word.from, word.from + at - 1), Math.min(word.to, word.from + at - 1 + letters.length), feature);
        }
      }
      continue;
    }
    const phrase = (own && rest[0] === '^' ? rest.slice(1) : name).split(' ');
    list().forEach((word, i) => {
      if (phrase.every((part, j) => list()[i + j]?.low === part)) cover(word.from, list()[i + phrase.length - 1].to, feature);
    });
  }
  return found;
}

export const total = feature => feature.shared + feature.own;
/** Where most of a feature's weight is: with everyone, or with this task alone. */
export const side = feature => (Math.abs(feature.own) > Math.abs(feature.shared) ? 'own' : 'shared');

// Text with marks: of features that overlap, the strongest has the character.
function marked(field, value, features) {
  const best = new Array(value.length), covers = ranges(field, value, features);
  for (const cover of covers) {
    for (let i = cover.from; i < cover.to; i++) {
      if (!best[i] || Math.abs(total(best[i].feature)) < Math.abs(total(cover.feature))) best[i] = cover;
    }
  }
  const parts = [];
  for (let from = 0, to; from < value.length; from = to) {
    for (to = from + 1; to < value.length && best[to] === best[from]; to++);
    const part = value.slice(from, to);
    parts.push(best[from] ? h('mark', { class: side(best[from].feature) }, part) : part);
  }
  return parts;
}

function paragraphs(field, features) {
  return field.value.replace(/\r\n?/g, '\n').split(/\n[ \t]*\n+/).filter(part => part.trim())
    .map(part => h('p', { dir: 'auto' }, marked(field, part.replace(/^\n+|\s+$/g, ''), features)));
}

function show(field, features) {
  if (field.kind === 'image') return image(field.value, field.name);
  if (field.value === '') return h('p', { class: 'soft' }, 'empty');
  if (field.kind === 'text') return paragraphs(field, features);
  return h('p', { class: field.kind === 'number' ? 'number' : null, dir: 'auto' }, marked(field, field.value, features));
}

/** The fields of an example into `element`; one field alone is large, several are a list of columns. `features` are marked. */
export function showExample(element, given, features = []) {
  const fields = given.map(field => ({ ...field, name: String(field.name ?? ''), value: String(field.value ?? '') }));
  const strong = features.filter(feature => total(feature) !== 0);
  element.className = fields.length === 1 ? `one ${fields[0].kind}` : 'many';
  element.replaceChildren(...(fields.length === 1 ? [show(fields[0], strong)].flat() : [h('dl', {}, fields.map(field =>
    h('div', { class: `field ${field.kind}` }, h('dt', {}, field.name), h('dd', {}, show(field, strong)))))]));
}

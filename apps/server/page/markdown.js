// Guidelines: a small Markdown that builds elements and text nodes. Markup in it stays text; links go to http, https and mailto.
import { h } from './dom.js';

const DEEPEST = 8;
const SPAN = new RegExp([
  /(?<ticks>`+)(?<code>.+?)\k<ticks>(?!`)/, /\\(?<plain>[\\`*_{}[\]()#+.!|<>~-])/, /\*\*(?<strong>\S(?:.*?\S)?)\*\*/, /\*(?<em>\S(?:.*?\S)?)\*/,
  /(?<![\p{L}\p{N}_])__(?<strong2>\S(?:.*?\S)?)__(?![\p{L}\p{N}_])/, /(?<![\p{L}\p{N}_])_(?<em2>\S(?:.*?\S)?)_(?![\p{L}\p{N}_])/,
  /!?\[(?<words>[^\]]*)\]\((?<to>[^)\s]*)(?:\s+"[^"]*")?\)/,
].map(part => part.source).join('|'), 'u');

function link(words, to, depth) {
  let url;
  try { url = new URL(to); } catch { return spans(words, depth); }
  if (!['http:', 'https:', 'mailto:'].includes(url.protocol)) return spans(words, depth);
  return [h('a', { href: url.href, target: '_blank', rel: 'noopener noreferrer' }, spans(words, depth))];
}

function spans(line, depth = 0) {
  const out = [];
  for (let rest = line; rest;) {
    const found = depth < DEEPEST && SPAN.exec(rest);
    if (!found) { out.push(rest); break; }
    if (found.index) out.push(rest.slice(0, found.index));
    const { code, plain, strong, strong2, em, em2, words, to } = found.groups;
    if (code !== undefined) out.push(h('code', {}, code.trim()));
    else if (plain !== undefined) out.push(plain);
    else if (words !== undefined) out.push(...link(words, to, depth + 1));
    else if (strong ?? strong2) out.push(h('strong', {}, spans(strong ?? strong2, depth + 1)));
    else out.push(h('em', {}, spans(em ?? em2, depth + 1)));
    rest = rest.slice(found.index + found[0].length);
  }
  return out;
}

const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])( +)(?=\S)/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^ {0,3}([-*_])( *\1){2,} *$/;
const FENCE = /^ {0,3}(```+|~~~+)/;
const ROW_RULE = /^ *\|?( *:?-+:? *\|)+( *:?-+:? *)?$/;
const cells = line => line.trim().replace(/^\||\|$/g, '').split(/(?<!\\)\|/).map(cell => cell.trim());

function blocks(lines, depth, top) {
  const out = [];
  for (let i = 0; i < lines.length;) {
    const line = lines[i];
    const fence = FENCE.exec(line), heading = HEADING.exec(line), item = ITEM.exec(line);
    if (!line.trim()) { i++; continue; }
    if (fence) {
      let end = i + 1;
      while (end < lines.length && !lines[end].trim().startsWith(fence[1])) end++;
      out.push(h('pre', { tabindex: 0 }, h('code', {}, lines.slice(i + 1, end).join('\n'))));
      i = end + 1;
    } else if (heading) {
      out.push(h(`h${Math.min(6, heading[1].length - top + 3)}`, {}, spans(heading[2])));
      i++;
    } else if (RULE.test(line)) {
      out.push(h('hr'));
      i++;
    } else if (/^ {0,3}>/.test(line) && depth < DEEPEST) {
      const inner = [];
      for (; i < lines.length && lines[i].trim() && (inner.length === 0 || /^ {0,3}>/.test(lines[i])); i++) inner.push(lines[i].replace(/^ {0,3}> ?/, ''));
      out.push(h('blockquote', {}, blocks(inner, depth + 1, top)));
    } else if (item && depth < DEEPEST) {
      const numbered = /\d/.test(item[2]), items = [];
      for (let found; i < lines.length && (found = ITEM.exec(lines[i])) && /\d/.test(found[2]) === numbered;) {
        const indent = found[0].length, inner = [lines[i++].slice(indent)];
        const inside = at => /^\s*$/.test(lines[at]) ? at + 1 < lines.length && lines[at + 1].startsWith(' '.repeat(2)) : lines[at].startsWith(' '.repeat(2));
        const runs_on = at => lines[at].trim() && !ITEM.test(lines[at]) && !HEADING.test(lines[at]) && !FENCE.test(lines[at]) && lines[at - 1].trim();
        while (i < lines.length && (inside(i) || runs_on(i))) inner.push(lines[i++].replace(new RegExp(`^ {0,${indent}}`), ''));
        items.push(inner);
        while (i < lines.length && !lines[i].trim() && ITEM.test(lines[i + 1] ?? '')) i++;
      }
      out.push(h(numbered ? 'ol' : 'ul', numbered ? { start: parseInt(item[2], 10) } : {}, items.map(inner => {
        const made = blocks(inner, depth + 1, top);
        if (made[0]?.tagName === 'P') made.splice(0, 1, ...made[0].childNodes);
        return h('li', {}, made);
      })));
    } else if (line.includes('|') && ROW_RULE.test(lines[i + 1] ?? '')) {
      const rows = [];
      for (i += 2; i < lines.length && lines[i].includes('|'); i++) rows.push(cells(lines[i]));
      out.push(h('table', {}, h('thead', {}, h('tr', {}, cells(line).map(cell => h('th', { scope: 'col' }, spans(cell))))),
        h('tbody', {}, rows.map(row => h('tr', {}, row.map(cell => h('td', {}, spans(cell))))))));
    } else {
      const words = [line.trim()];
      for (i++; i < lines.length && lines[i].trim() && !HEADING.test(lines[i]) && !FENCE.test(lines[i]) && !ITEM.test(lines[i]) && !/^ {0,3}>/.test(lines[i]); i++) words.push(lines[i].trim());
      out.push(h('p', {}, spans(words.join(' '))));
    }
  }
  return out;
}

/** The elements of a Markdown text; its highest headings become h3, below the page's own. */
export function markdown(source) {
  const lines = source.replace(/\r\n?/g, '\n').replace(/\t/g, '    ').split('\n');
  return blocks(lines, 0, Math.min(6, ...lines.map(line => HEADING.exec(line)?.[1].length ?? 6)));
}

/** Text inside a block: emphasis, code, links, and the places that an answer names. */

import { html } from '../../common/lit.js';
import { citation } from './citation_button.js';
import { placeInCode, placesIn } from './citations.js';
import { decodeEntities } from './entities.js';
import { safeLink } from './links.js';

/** @typedef {import('./markdown.js').MarkdownContext} MarkdownContext */

/** Emphasis in emphasis: deeper it is shown as it is written. */
const MAX_DEPTH = 12;

/**
 * @param {any[] | undefined} tokens
 * @param {MarkdownContext} context
 * @param {number} [depth]
 * @returns {unknown[]}
 */
export function inline(tokens, context, depth = 0) {
  return (tokens ?? []).map((token) => inlineToken(token, context, depth));
}

/**
 * @param {any} token
 * @param {MarkdownContext} context
 * @param {number} depth
 * @returns {unknown}
 */
function inlineToken(token, context, depth) {
  if (depth > MAX_DEPTH) return token.raw;
  const inside = () => inline(token.tokens, context, depth + 1);
  switch (token.type) {
    case 'text':
      return token.tokens ? inside() : withPlaces(decodeEntities(token.text), context);
    case 'escape':
      return token.text;
    case 'strong':
      return html`<strong>${inside()}</strong>`;
    case 'em':
      return html`<em>${inside()}</em>`;
    case 'del':
      return html`<del>${inside()}</del>`;
    case 'codespan':
      return codeSpan(token.text, context);
    case 'br':
      return html`<br />`;
    case 'checkbox':
      return token.checked ? '☑ ' : '☐ ';
    case 'link':
      return link(token, inside());
    default:
      return token.raw; // pictures and HTML
  }
}

/**
 * @param {string} code
 * @param {MarkdownContext} context
 */
function codeSpan(code, context) {
  const place = placeInCode(code, context.known);
  return place ? citation(place, context) : html`<code>${code}</code>`;
}

/**
 * @param {string} text
 * @param {MarkdownContext} context
 */
function withPlaces(text, context) {
  return placesIn(text, context.known).map((piece) =>
    typeof piece === 'string' ? piece : citation(piece, context),
  );
}

/**
 * @param {{ href: string, text: string, raw: string }} token
 * @param {unknown} content
 */
function link({ href, text }, content) {
  const safe = safeLink(href);
  if (!safe) return html`${content} <span class="link-host">(${href})</span>`;
  const host = text.includes(safe.host) ? '' : ` (${safe.host})`;
  return html`<a href=${safe.href} target="_blank" rel="noopener noreferrer"
    >${content}<span class="link-host">${host}</span></a
  >`;
}

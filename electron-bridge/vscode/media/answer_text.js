/** The text of an answer as blocks and pieces: code, headings, paragraphs, places. Pure. */

import { placeInCode, placesIn } from '../../app/pages/repository/conversation/citations.js';

/** @typedef {import('../../app/pages/repository/conversation/citations.js').Place} Place */
/** @typedef {{ kind: 'text' | 'code' | 'strong', text: string } | { kind: 'place', text: string, place: Place }} Piece */
/** @typedef {{ kind: 'code', text: string } | { kind: 'heading' | 'paragraph', pieces: Piece[] }} Block */

const FENCE = /^\s*(`{3,}|~{3,})/;
const HEADING = /^#{1,6}\s+(.*)$/;
const INLINE = /(`[^`\n]+`|\*\*[^*\n]+\*\*)/;

/**
 * @param {string} text
 * @param {ReadonlySet<string>} known the files that were shown to the model
 * @returns {Block[]}
 */
export function parseAnswer(text, known) {
  /** @type {Block[]} */
  const blocks = [];
  /** @type {string[]} */
  let lines = [];
  let fence = '';
  const flush = () => {
    const joined = lines.join('\n');
    if (fence) blocks.push({ kind: 'code', text: joined });
    else if (joined.trim()) blocks.push({ kind: 'paragraph', pieces: parsePieces(joined, known) });
    lines = [];
  };
  for (const line of text.split('\n')) {
    const mark = FENCE.exec(line)?.[1] ?? '';
    const heading = fence ? null : HEADING.exec(line);
    if (fence ? mark.startsWith(fence) : mark) {
      flush();
      fence = fence ? '' : mark;
    } else if (heading) {
      flush();
      blocks.push({ kind: 'heading', pieces: parsePieces(heading[1], known) });
    } else if (!fence && !line.trim()) {
      flush();
    } else {
      lines.push(line);
    }
  }
  flush();
  return blocks;
}

/**
 * @param {string} text
 * @param {ReadonlySet<string>} known
 * @returns {Piece[]}
 */
function parsePieces(text, known) {
  return text.split(INLINE).flatMap((piece) => {
    if (!piece) return [];
    if (piece.startsWith('`') && piece.endsWith('`') && piece.length > 2) {
      const code = piece.slice(1, -1);
      const place = placeInCode(code, known);
      return [place ? toPiece(place) : { kind: /** @type {const} */ ('code'), text: code }];
    }
    if (piece.startsWith('**') && piece.length > 4) {
      return [{ kind: /** @type {const} */ ('strong'), text: piece.slice(2, -2) }];
    }
    return placesIn(piece, known).map((part) =>
      typeof part === 'string'
        ? { kind: /** @type {const} */ ('text'), text: part }
        : toPiece(part),
    );
  });
}

/**
 * @param {Place} place
 * @returns {Piece}
 */
function toPiece(place) {
  return { kind: 'place', text: place.text, place };
}

/** Rectangles whose areas are as their values, as square as possible. Pure. */

/** @typedef {{ left: number, top: number, width: number, height: number }} Area */

/**
 * Squarified, as Bruls, Huizing and van Wijk describe it.
 *
 * @param {readonly number[]} values positive, the largest first
 * @param {Area} area
 * @returns {Area[]} one for each value
 */
export function layOut(values, area) {
  const total = values.reduce((sum, value) => sum + value, 0);
  if (total <= 0) return [];
  const scale = (area.width * area.height) / total;
  /** @type {Area[]} */
  const areas = [];
  let rest = area;
  let at = 0;
  while (at < values.length) {
    const side = Math.min(rest.width, rest.height);
    let end = at + 1;
    let sum = values[at] * scale;
    for (; end < values.length; end += 1) {
      const wider = sum + values[end] * scale;
      if (
        worst(values, at, end + 1, wider, side, scale) > worst(values, at, end, sum, side, scale)
      ) {
        break;
      }
      sum = wider;
    }
    const { placed, left } = placeRow(values.slice(at, end), sum, rest, scale);
    areas.push(...placed);
    rest = left;
    at = end;
  }
  return areas;
}

/**
 * How far the worst rectangle of a row is from a square.
 *
 * @param {readonly number[]} values
 * @param {number} begin
 * @param {number} end
 * @param {number} sum of the row's areas
 * @param {number} side
 * @param {number} scale
 */
function worst(values, begin, end, sum, side, scale) {
  const largest = values[begin] * scale;
  const smallest = values[end - 1] * scale;
  return Math.max((side ** 2 * largest) / sum ** 2, sum ** 2 / (side ** 2 * smallest));
}

/**
 * @param {readonly number[]} values
 * @param {number} sum
 * @param {Area} area
 * @param {number} scale
 */
function placeRow(values, sum, area, scale) {
  const isWide = area.width >= area.height;
  const side = isWide ? area.height : area.width;
  const depth = side > 0 ? sum / side : 0;
  let offset = 0;
  const placed = values.map((value) => {
    const length = depth > 0 ? (value * scale) / depth : 0;
    const one = isWide
      ? { left: area.left, top: area.top + offset, width: depth, height: length }
      : { left: area.left + offset, top: area.top, width: length, height: depth };
    offset += length;
    return one;
  });
  const left = isWide
    ? { ...area, left: area.left + depth, width: Math.max(0, area.width - depth) }
    : { ...area, top: area.top + depth, height: Math.max(0, area.height - depth) };
  return { placed, left };
}

/** Elements of a page: made from text, never from HTML. */

/**
 * @param {string} tag
 * @param {Record<string, string>} [attributes]
 * @param {...(Node | string)} children
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/**
 * A button that does something.
 *
 * @param {string} text
 * @param {() => void} press
 * @param {string} [kind]
 */
export function button(text, press, kind = '') {
  const made = element('button', { type: 'button', ...(kind ? { class: kind } : {}) }, text);
  made.addEventListener('click', (event) => {
    event.stopPropagation();
    press();
  });
  return made;
}

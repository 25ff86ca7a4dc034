/**
 * An agent's work in the page, while it goes on and after.
 *
 * Each thing it text or did has an element of its own, and only that of what has changed is drawn
 * again; of a growing answer, only its last block.
 */

import { render } from '../../common/lit.js';
import { noteView, thoughtView } from './agent_items.js';
import { isPlanning, planOf } from './agent_plan.js';
import { AnswerBody } from './answer_body.js';
import { planView } from './plan_view.js';
import { toolView } from './tool_view.js';

/** @typedef {import('./agent_run.js').Item} Item */
/** @typedef {import('./agent_run.js').ToolItem} ToolItem */
/** @typedef {'allow' | 'allowTurn' | 'allowRule' | 'deny'} Decision */

/**
 * @typedef {object} Held what is shown of one item
 * @property {HTMLElement} element
 * @property {number} number by which parts of the page name each other
 * @property {boolean} isOpen
 * @property {boolean} isWhole all of a long output is shown
 * @property {Set<number>} rejected hunks of an edit that waits
 * @property {AnswerBody | null} body
 * @property {string} text what the body has got so far
 */

let lastNumber = 0;

export class AgentBody {
  element = document.createElement('div');
  #plan = document.createElement('div');
  /** @type {Set<Item>} uses of the tool that writes the plan */
  #planning = new Set();
  /** @type {Map<Item, Held>} */
  #held = new Map();

  /**
   * @param {{
   *   context: () => import('./markdown.js').MarkdownContext,
   *   grown: () => void,
   *   decide: ((tool: ToolItem, decision: Decision, hunks?: number[]) => void) | null,
   *   openFile: (filePath: string) => void,
   * }} options `grown` is called after something was drawn; without `decide`, questions are not asked
   */
  constructor(options) {
    this.options = options;
    this.element.className = 'agent-work';
    this.#plan.className = 'agent-plan-place';
    this.element.append(this.#plan);
  }

  /** @param {readonly Item[]} items new ones are put at the end */
  update(items) {
    for (const item of items) {
      if (isPlanning(item)) this.#planning.add(item);
      else this.#draw(item, this.#held.get(item) ?? this.#hold(item));
    }
    if (items.some(isPlanning)) this.#drawPlan();
    if (items.length > 0) this.options.grown();
  }

  /** There is no more. */
  end() {
    for (const { body } of this.#held.values()) body?.end();
  }

  /** The language of the page has changed. */
  redraw() {
    this.#drawPlan();
    for (const [item, held] of this.#held) {
      held.body?.redraw();
      this.#draw(item, held);
    }
  }

  /**
   * Let the keyboard reach a question, unless the user is in another field.
   *
   * @param {Item} item
   */
  offerFocus(item) {
    const { activeElement } = document;
    const isBusy =
      activeElement instanceof HTMLTextAreaElement ? activeElement.value !== '' : isElsewhere();
    const question = this.#held.get(item)?.element.querySelector('.permission');
    if (!isBusy && question instanceof HTMLElement) question.focus();
  }

  #drawPlan() {
    render(planView(planOf(this.#planning)), this.#plan);
  }

  /**
   * @param {Item} item
   * @returns {Held}
   */
  #hold(item) {
    lastNumber += 1;
    const element = document.createElement('div');
    element.className = `agent-item agent-${item.kind}`;
    const body = item.kind === 'text' ? new AnswerBody(this.options) : null;
    if (body) element.append(body.element);
    const held = {
      element,
      number: lastNumber,
      isOpen: false,
      isWhole: false,
      rejected: new Set(),
      body,
      text: '',
    };
    this.#held.set(item, held);
    this.element.append(element);
    return held;
  }

  /**
   * @param {Item} item
   * @param {Held} held
   */
  #draw(item, held) {
    if (held.body && item.kind !== 'tool') {
      held.body.add(item.text.slice(held.text.length));
      held.text = item.text;
      return;
    }
    const { decide } = this.options;
    const act = {
      toggle: () => this.#change(item, held, { isOpen: !held.isOpen }),
      showAll: () => this.#change(item, held, { isWhole: true }),
      openFile: this.options.openFile,
      setHunk: (/** @type {number} */ number, /** @type {boolean} */ isAccepted) => {
        if (isAccepted) held.rejected.delete(number);
        else held.rejected.add(number);
        this.#draw(item, held);
      },
      decide:
        decide &&
        ((/** @type {Decision} */ decision, /** @type {number[] | undefined} */ hunks) => {
          decide(/** @type {ToolItem} */ (item), decision, hunks);
          this.#draw(item, held);
          /** @type {HTMLElement | null} */ (held.element.querySelector('.tool-toggle'))?.focus();
        }),
    };
    render(template(item, held, act), held.element);
  }

  /**
   * @param {Item} item
   * @param {Held} held
   * @param {Partial<Held>} change
   */
  #change(item, held, change) {
    Object.assign(held, change);
    this.#draw(item, held);
  }
}

/**
 * @param {Item} item
 * @param {Held} held
 * @param {import('./tool_view.js').ToolActions} act
 */
function template(item, held, act) {
  if (item.kind === 'tool') return toolView(item, held, act);
  return item.kind === 'thinking' ? thoughtView(item, held, act) : noteView();
}

/** Whether the focus is in a dialog, a field or a list that the user has moved to. */
function isElsewhere() {
  const { activeElement } = document;
  return Boolean(activeElement?.closest('dialog, input, select, .talks, .viewer'));
}

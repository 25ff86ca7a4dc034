/** What is known of the chat models: prices and memory. Pure, but for the language of figures. */

import { formatCount } from '../../common/format.js';
import { locale } from '../../common/i18n.js';

/** @typedef {import('../../../../types/protocol.d.ts').GetGenerationModelsReply} Reply */
/** @typedef {Reply['modelList'][number]} Model */
/** @typedef {import('../../../../types/protocol.d.ts').SpentEntry} Spent */
/** @typedef {{ used: number, most: number, isCut: boolean }} Memory characters */

const TOKENS_PER_PRICE = 1_000_000;
const CURRENCY_CODE = /^[A-Z]{3}$/;

export class ModelFacts {
  /** @param {Partial<Reply>} reply */
  constructor({ modelList = [], currency = '', historyLength = -1 } = {}) {
    /** @type {readonly Model[]} */
    this.models = modelList;
    this.currency = currency;
    /** characters of earlier turns that a model is given; 0: all, -1: unknown */
    this.historyLength = historyLength;
  }

  /**
   * What an answer has cost; null if no price is known.
   *
   * @param {string} modelName yours or the endpoint's
   * @param {Spent | null} usage
   */
  costOf(modelName, usage) {
    const model = this.models.find((one) => one.name === modelName || one.modelName === modelName);
    const { inputPrice = null, outputPrice = null } = model ?? {};
    if (!usage || (inputPrice === null && outputPrice === null)) return null;
    const { input_token: input, output_token: output } = usage;
    return (input * (inputPrice ?? 0) + output * (outputPrice ?? 0)) / TOKENS_PER_PRICE;
  }

  /**
   * How much of a conversation the model is given again, of how much at the most; null if it is
   * given everything, or nothing is known.
   *
   * @param {readonly { query: string, answer: string }[]} turns
   */
  memoryOf(turns) {
    if (this.historyLength <= 0) return null;
    const used = turns.reduce((sum, { query, answer }) => sum + query.length + answer.length, 0);
    return {
      used: Math.min(used, this.historyLength),
      most: this.historyLength,
      isCut: used > this.historyLength,
    };
  }
}

/**
 * @param {number} cost
 * @param {string} currency a code, a sign, or ''
 */
export function formatMoney(cost, currency) {
  const digits = { maximumFractionDigits: cost !== 0 && Math.abs(cost) < 0.1 ? 4 : 2 };
  if (CURRENCY_CODE.test(currency)) {
    return new Intl.NumberFormat(locale(), { style: 'currency', currency, ...digits }).format(cost);
  }
  return `${currency}${new Intl.NumberFormat(locale(), digits).format(cost)}`;
}

/** @param {number} count */
export function formatThousands(count) {
  return count < 10_000 ? formatCount(count) : `${formatCount(Math.round(count / 1000))}k`;
}

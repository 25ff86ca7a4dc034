/** What is being searched for, and what was found: state and the calls that change it. */

import { kernel } from '../../common/kernel.js';
import { readPreference, savePreference } from '../../common/preferences.js';
import { LatestOnly } from './latest_only.js';
import { noteQuery } from './recent_queries.js';
import { ALL, OWN } from './scope.js';

/** @typedef {import('../../../../types/protocol.d.ts').SearchedRepo} SearchedRepo */
/** @typedef {import('./scope.js').Scope} Scope */
/** @typedef {import('../../../../types/protocol.d.ts').SearchResult & { repoName?: string }}
 *   SearchResult `repoName` if several repositories were searched */
/** @typedef {{ query: string, scope: Scope, limit: number | null, accuracy: boolean,
 *   isMore: boolean }} Question */
/** @typedef {Pick<import('../../../../types/protocol.d.ts').SearchReply, 'isComplete' | 'facets'> &
 *   { results: SearchResult[], repos?: SearchedRepo[], gap?: string, ms: number }} Answer */

/** Milliseconds after which an unchanged query is saved as a recent one. */
const DWELL_MS = 3_000;
const MORE_FACTOR = 3;
const MAX_RESULTS = 10_000;

export class SearchState {
  query = '';
  scope = OWN;
  accuracy = readPreference('search.accuracy') === 'true';
  /** @type {SearchResult[]} */
  results = [];
  /** What `results` are the answer to. @type {Question | null} */
  answered = null;
  ms = 0;
  isComplete = true;
  /** What was not searched, as a sentence. */
  gap = '';
  /** What all hits have in common. @type {import('../../../../types/protocol.d.ts').SearchFacets | null} */
  facets = null;
  /** Facets of which all values are shown. @type {Set<string>} */
  wholeFacets = new Set();
  /** Of which repositories not all was searched. @type {SearchedRepo[]} */
  gaps = [];
  hasMore = false;
  /** @type {unknown} */
  failure = null;
  /** @type {Set<string>} results that are shown whole */
  expanded = new Set();
  /** @type {Set<string>} results whose score is explained */
  explained = new Set();
  /** @type {Set<string>} files of which all results are shown */
  openFiles = new Set();
  /** Whether somebody did something with what was found. */
  wasUsed = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #dwell;

  /**
   * @param {string} repoName
   * @param {{ changed: () => void, found: (isMore: boolean) => void }} callbacks
   */
  constructor(repoName, callbacks) {
    this.repoName = repoName;
    this.callbacks = callbacks;
    /** @type {LatestOnly<Question, Answer>} */
    this.latest = new LatestOnly((question) => requestSearch(question), {
      answered: (answer, question) => this.#onReply(answer, question),
      failed: (failure, question) => this.#onFailure(failure, question),
      changed: callbacks.changed,
    });
  }

  get isUnderWay() {
    return this.latest.isUnderWay;
  }

  /**
   * At once, also for each letter: one search runs at a time, and the newest waits for it.
   *
   * @param {string} query
   */
  search(query) {
    clearTimeout(this.#dwell);
    this.query = query;
    if (query.trim()) this.#start({ limit: null, isMore: false });
    else this.#clear();
  }

  /** The same once more: the index or an option has changed. */
  again() {
    if (this.query.trim()) this.search(this.query);
  }

  more() {
    const limit = Math.min(MAX_RESULTS, Math.max(30, this.results.length * MORE_FACTOR));
    this.note();
    this.#start({ limit, isMore: true });
  }

  /** @param {boolean} accuracy */
  setAccuracy(accuracy) {
    this.accuracy = accuracy;
    savePreference('search.accuracy', String(accuracy));
    this.again();
    this.callbacks.changed();
  }

  /** @param {Scope} scope */
  setScope(scope) {
    this.scope = scope;
    this.again();
    this.callbacks.changed();
  }

  /** The query was of use: remember it. */
  note() {
    if (!this.answered) return;
    this.wasUsed = true;
    noteQuery(this.repoName, this.answered.query);
  }

  /** @param {Pick<Question, 'limit' | 'isMore'>} what */
  #start(what) {
    const { query, scope, accuracy } = this;
    this.latest.schedule({ query, scope, accuracy, ...what });
  }

  #clear() {
    this.results = [];
    this.answered = null;
    this.failure = null;
    this.facets = null;
    this.gaps = [];
    this.hasMore = false;
    this.latest.cancel();
    this.callbacks.found(false);
  }

  /**
   * @param {Answer} answer
   * @param {Question} question
   */
  #onReply({ results, repos = [], isComplete = true, gap = '', facets, ms }, question) {
    const before = this.results.length;
    this.results = results;
    this.isComplete = isComplete;
    this.gap = gap;
    this.gaps = repos.filter((each) => each.error || each.gap);
    this.ms = ms;
    this.answered = question;
    this.failure = null;
    this.hasMore = question.isMore
      ? results.length > before && results.length >= (question.limit ?? 0)
      : results.length > 1;
    if (!question.isMore) {
      this.facets = facets ?? null;
      this.openFiles.clear();
      this.expanded.clear();
      this.explained.clear();
    }
    clearTimeout(this.#dwell);
    if (results.length > 0) this.#dwell = setTimeout(() => this.note(), DWELL_MS);
    this.callbacks.found(question.isMore);
  }

  /**
   * @param {unknown} failure
   * @param {Question} question
   */
  #onFailure(failure, question) {
    this.failure = failure;
    this.answered = this.results.length > 0 ? this.answered : question;
    this.callbacks.changed();
  }
}

/**
 * @param {Question} question
 * @returns {Promise<Answer>}
 */
async function requestSearch({ query, scope, limit, accuracy }) {
  const begin = performance.now();
  const fields = { query, accuracy, explain: true, ...(limit !== null && { limit }) };
  const reply =
    scope.length === 0
      ? await kernel.search({ ...fields, facets: true })
      : await kernel.searchRepos({ ...fields, ...(scope[0] !== ALL && { repos: [...scope] }) });
  return { ...reply, ms: performance.now() - begin };
}

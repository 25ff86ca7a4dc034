/** Keeps a growing list scrolled to its end, unless the user has scrolled away. */

/** Pixels from the end that still count as being there. */
const NEAR = 64;

export class FollowedScroll {
  /** Whether there is something below that is not followed. */
  isBehind = false;
  #isFollowing = true;
  #lastTop = 0;
  /** @type {ResizeObserver} */
  #sizes;
  /** @type {Element | null} */
  #content = null;

  /**
   * @param {HTMLElement} scroller
   * @param {() => void} changed `isBehind` has
   */
  constructor(scroller, changed) {
    this.scroller = scroller;
    this.changed = changed;
    scroller.addEventListener('scroll', () => this.#scrolled(), { passive: true });
    this.#sizes = new ResizeObserver(() => this.grown());
    this.#sizes.observe(scroller);
  }

  /** @param {Element} content what stands in the scroller now; blocks get their size when seen */
  follow(content) {
    if (content === this.#content) return;
    if (this.#content) this.#sizes.unobserve(this.#content);
    this.#content = content;
    this.#sizes.observe(content);
  }

  /** Something was drawn. */
  grown() {
    if (this.#isFollowing) this.scroller.scrollTop = this.scroller.scrollHeight;
    this.#look();
  }

  toEnd() {
    this.#isFollowing = true;
    this.grown();
  }

  #scrolled() {
    const { scrollTop } = this.scroller;
    // What grows never moves the place upwards; only the user does.
    if (this.#distance() < NEAR) this.#isFollowing = true;
    else if (scrollTop < this.#lastTop) this.#isFollowing = false;
    this.#lastTop = scrollTop;
    this.#look();
  }

  #look() {
    const isBehind = !this.#isFollowing && this.#distance() >= NEAR;
    if (isBehind === this.isBehind) return;
    this.isBehind = isBehind;
    this.changed();
  }

  #distance() {
    const { scrollHeight, scrollTop, clientHeight } = this.scroller;
    return scrollHeight - scrollTop - clientHeight;
  }
}

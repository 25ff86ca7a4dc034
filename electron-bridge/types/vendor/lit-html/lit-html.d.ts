/** The vendored files carry no types; `rootDirs` of tsconfig.json puts these in their place. */

export const html: (strings: TemplateStringsArray, ...values: unknown[]) => unknown;
export const svg: (strings: TemplateStringsArray, ...values: unknown[]) => unknown;
export const nothing: symbol;
export function render(value: unknown, container: HTMLElement | DocumentFragment): unknown;

export const ref: (...values: any[]) => unknown;
export function createRef(): { value?: any };

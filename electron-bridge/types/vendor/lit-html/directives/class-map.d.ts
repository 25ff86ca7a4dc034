export const classMap: (...values: any[]) => unknown;

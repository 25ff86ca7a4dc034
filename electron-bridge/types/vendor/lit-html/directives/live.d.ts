export const live: (...values: any[]) => unknown;

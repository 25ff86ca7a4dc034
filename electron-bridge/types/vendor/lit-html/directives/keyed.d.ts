export const keyed: (...values: any[]) => unknown;

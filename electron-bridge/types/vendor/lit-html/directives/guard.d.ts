export const guard: (...values: any[]) => unknown;

export const when: (...values: any[]) => unknown;

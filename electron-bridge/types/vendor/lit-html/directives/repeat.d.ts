export const repeat: (...values: any[]) => unknown;

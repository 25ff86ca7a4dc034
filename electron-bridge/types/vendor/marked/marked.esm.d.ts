export const Lexer: { lex(text: string): any[] };

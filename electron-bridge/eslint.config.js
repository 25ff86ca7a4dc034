/** What `npm run lint` checks: ESLint's recommended rules, and the habits of this code. */

import js from '@eslint/js';
import globals from 'globals';

const RULES = {
  eqeqeq: 'error',
  'no-shadow': 'error',
  'no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
  'no-var': 'error',
  'object-shorthand': 'error',
  'prefer-const': 'error',
};

export default [
  { ignores: ['app/out/', 'app/pages/vendor/'] },
  js.configs.recommended,
  {
    files: ['**/*.js', '**/*.cjs', '**/*.mjs'],
    languageOptions: { ecmaVersion: 2024, globals: globals.node },
    rules: RULES,
  },
  { files: ['app/pages/**/*.js'], languageOptions: { globals: globals.browser } },
  {
    files: ['vscode/media/*.js'],
    languageOptions: { globals: { ...globals.browser, acquireVsCodeApi: 'readonly' } },
  },
  {
    // What `page.evaluate` runs, runs in the page.
    files: ['app/e2e/**/*.js', 'vscode/e2e/*.js'],
    languageOptions: { globals: { ...globals.node, ...globals.browser } },
  },
  {
    files: ['preload.cjs'],
    languageOptions: { sourceType: 'commonjs', globals: { require: 'readonly' } },
  },
];

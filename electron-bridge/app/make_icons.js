/**
 * Draws the icons of the app from its SVG, with the Chromium of the tests:
 * `node app/make_icons.js`.
 */

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

import { chromiumProgram, FLAGS } from './e2e/support/programs.js';

const FOLDER = fileURLToPath(new URL('./pages/icons/', import.meta.url));

/** A maskable icon is cut to any shape, an iPhone cuts the corners itself: no corners of ours. */
const ICONS = [
  { name: 'icon-180.png', size: 180, isSquare: true },
  { name: 'icon-192.png', size: 192, isSquare: false },
  { name: 'icon-512.png', size: 512, isSquare: false },
  { name: 'icon-maskable-512.png', size: 512, isSquare: true },
];

const drawing = await readFile(`${FOLDER}icon.svg`, 'utf8');
const program = await chromium.launch({ executablePath: chromiumProgram(), args: FLAGS });
for (const { name, size, isSquare } of ICONS) {
  const page = await program.newPage({ viewport: { width: size, height: size } });
  const shape = isSquare ? drawing.replace(/ rx="112"/, '') : drawing;
  const image = `data:image/svg+xml;base64,${Buffer.from(shape).toString('base64')}`;
  await page.setContent(
    `<body style="margin:0"><img width="${size}" height="${size}" src="${image}">`,
  );
  await page.screenshot({ path: FOLDER + name, omitBackground: true });
  await page.close();
}
await program.close();

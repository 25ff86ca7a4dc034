/** What TypeScript's compiler says of calls: `node ... ROOT BELOW COUNT SEED`, JSON lines on stdout.
 *
 * A line is one call, drawn at random: where it is, and what is called: "inside" with path and
 * line, "outside", or "unknown". Packages of the repository itself are found by their names.
 */
import fs from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

const [root, below, count, seed] = [path.resolve(process.argv[2]), ...process.argv.slice(3)];
const skipped = new Set(['node_modules', 'dist', '.git', 'build', 'coverage']);
const ends = /\.(ts|tsx|js|jsx|mjs|cjs|mts|cts)$/;

function filesBelow(folder) {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const whole = path.join(folder, entry.name);
    if (entry.isDirectory()) return skipped.has(entry.name) ? [] : filesBelow(whole);
    return ends.test(entry.name) && !entry.name.endsWith('.min.js') ? [whole] : [];
  });
}

/** The packages of a monorepo, so that imports between them are followed. */
function packagePaths() {
  const paths = {};
  const packages = path.join(root, 'packages');
  for (const name of fs.existsSync(packages) ? fs.readdirSync(packages) : []) {
    const manifest = path.join(packages, name, 'package.json');
    if (!fs.existsSync(manifest)) continue;
    const known = JSON.parse(fs.readFileSync(manifest, 'utf8')).name;
    if (!known) continue;
    const source = `packages/${name}/src`;
    paths[known] = [`${source}/index`, `packages/${name}/index`];
    paths[`${known}/*`] = [`${source}/*`, `${source}/*/index`, `${source}/public/*`];
  }
  return paths;
}

/** Random numbers that are the same each time. */
function numbers(state) {
  return () => {
    state = (state * 1664525 + 1013904223) % 4294967296;
    return state / 4294967296;
  };
}

const files = filesBelow(path.join(root, below));
const program = ts.createProgram(files, {
  allowJs: true,
  jsx: ts.JsxEmit.Preserve,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  target: ts.ScriptTarget.ESNext,
  baseUrl: root,
  paths: packagePaths(),
  noEmit: true,
  skipLibCheck: true,
  types: [],
});
const checker = program.getTypeChecker();

function nameOf(expression) {
  if (ts.isIdentifier(expression)) return expression;
  if (ts.isPropertyAccessExpression(expression)) return expression.name;
  return undefined;
}

const sites = [];
for (const file of files) {
  const source = program.getSourceFile(file);
  if (!source) continue;
  const visit = (node) => {
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      const name = nameOf(node.expression);
      if (name && ts.isIdentifier(name)) sites.push({ source, node, name });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
}

function declarationsOf({ node, name }) {
  let symbol = checker.getSymbolAtLocation(name);
  if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol);
  const called = checker.getResolvedSignature(node)?.declaration;
  const found = symbol?.declarations ?? [];
  return called && !found.includes(called) ? [...found, called] : found;
}

/** A function that nobody can name is nobody's callee. */
function isNamed(node) {
  const named = node.name ?? node.parent?.name ?? node.parent?.left;
  return Boolean(named) || ts.isConstructorDeclaration(node);
}

/** A type of functions is no function: whoever calls what has it calls somebody unknown. */
function isOnlyType(node) {
  return (
    ts.isFunctionTypeNode(node) ||
    ts.isCallSignatureDeclaration(node) ||
    ts.isConstructSignatureDeclaration(node) ||
    ts.isConstructorTypeNode(node) ||
    ts.isParameter(node)
  );
}

function isFunction(node) {
  if (isOnlyType(node)) return false;
  if (ts.isPropertySignature(node)) return Boolean(node.type && ts.isFunctionTypeNode(node.type));
  if (ts.isFunctionLike(node) || ts.isClassLike(node)) return true;
  const held = node.initializer ?? node.right;
  return Boolean(held && (ts.isFunctionLike(held) || ts.isClassLike(held)));
}

const random = numbers(Number(seed));
const drawn = sites
  .map((site) => ({ site, at: random() }))
  .sort((one, other) => one.at - other.at)
  .slice(0, Number(count));
for (const { site } of drawn) {
  const declarations = declarationsOf(site);
  const lineOf = (node, source) => source.getLineAndCharacterOfPosition(node.getStart(source)).line;
  const targets = [];
  let outside = false;
  for (const declared of declarations) {
    const source = declared.getSourceFile();
    const inside = source.fileName.startsWith(root) && !source.fileName.includes('node_modules');
    if (inside && isFunction(declared) && isNamed(declared)) {
      const first = lineOf(declared.name ?? declared, source) + 1;
      targets.push([path.relative(root, source.fileName), first]);
    } else if (!inside) outside = true;
  }
  const said = targets.length ? 'inside' : outside ? 'outside' : 'unknown';
  const line = lineOf(site.name, site.source) + 1;
  const where = path.relative(root, site.source.fileName);
  console.log(JSON.stringify({ path: where, line, name: site.name.text, said, targets }));
}

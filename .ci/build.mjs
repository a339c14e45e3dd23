// Emits dist for publishing. The sources run as they are in a checkout; below node_modules Node strips no types, so the package carries JavaScript.
// dist gets a package.json of its own, whose import map points at the emitted rooms.
import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

rmSync('dist', { recursive: true, force: true });
execFileSync('tsc', ['--project', 'tsconfig.build.json'], { stdio: 'inherit' });
const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
const imports = Object.fromEntries(
  Object.entries(manifest.imports).map(([room, path]) => [room, path.replace(/\.ts$/, '.js')]),
);
writeFileSync(
  'dist/package.json',
  `${JSON.stringify({ name: manifest.name, version: manifest.version, type: 'module', imports }, null, 2)}\n`,
);
// Pages of the console are for browsers: they are served as they are.
cpSync('console', 'dist/console', {
  recursive: true,
  filter: (path) => !/\.(json|d\.ts)$/.test(path),
});

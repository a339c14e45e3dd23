/**
 * `npm run bench -- [NAME…] [--smoke] [--rounds N]`: runs the questions one after another, prints one JSON line each and keeps the last results
 * in bench/results.json, from which bench/README.md is made.
 */
import { readFileSync, writeFileSync, existsSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Question } from './question.ts';
import { questions } from './questions.ts';

const resultsPath = fileURLToPath(new URL('./results.json', import.meta.url));
const readmePath = fileURLToPath(new URL('./README.md', import.meta.url));

interface Kept {
  readonly asks: string;
  readonly at: string;
  readonly machine: string;
  readonly rounds: number;
  readonly figures: Readonly<Record<string, number>>;
}

function machine(): string {
  const cores = cpus();
  return `${cores.length} × ${cores[0]?.model.trim() ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}, Node ${process.version}`;
}

function readme(results: Readonly<Record<string, Kept>>): string {
  const parts = Object.entries(results).map(
    ([name, kept]) =>
      `## ${name}\n\n${kept.asks}.\n\n${kept.at.slice(0, 10)}, ${kept.machine}, median of ${kept.rounds} rounds: \`npm run bench -- ${name}\`\n\n| figure | value |\n|---|---|\n${Object.entries(
        kept.figures,
      )
        .map(([figure, value]) => `| ${figure} | ${value} |`)
        .join('\n')}\n`,
  );
  return `# Benches\n\nMade by \`npm run bench\`; one file per question. Rounds go A-B-B-A, so that drift falls on both sides; each begins with a fresh process and a warm-up;\nfigures are medians, and a spread is largest less smallest as a part of the median. Compare ratios, not absolute figures: machines are shared and\nnoisy. \`counts\` is nearly the same everywhere, and its bounds fail the run. What was found: [performance](../docs/performance.md).\n\n${parts.join('\n')}`;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { smoke: { type: 'boolean', default: false }, rounds: { type: 'string' } },
});
const chosen: readonly Question[] =
  positionals.length === 0 ? questions : questions.filter(({ name }) => positionals.includes(name));
const unknown = positionals.filter((name) => !questions.some((question) => question.name === name));
if (unknown.length > 0) {
  process.stderr.write(
    `no bench is called ${unknown.join(', ')}; there are ${questions.map(({ name }) => name).join(', ')}\n`,
  );
  process.exit(2);
}
const rounds = values.rounds === undefined ? (values.smoke ? 1 : 5) : Number(values.rounds);
const results: Record<string, Kept> = existsSync(resultsPath)
  ? (JSON.parse(readFileSync(resultsPath, 'utf8')) as Record<string, Kept>)
  : {};
let isBroken = false;
for (const question of chosen) {
  const answer = await question.run({ isSmoke: values.smoke, rounds });
  process.stdout.write(`${JSON.stringify({ bench: question.name, ...answer })}\n`);
  for (const [gate, holds] of Object.entries(answer.gates ?? {})) {
    if (holds) continue;
    isBroken = true;
    process.stderr.write(`${question.name}: ${gate} does not hold\n`);
  }
  if (!values.smoke)
    results[question.name] = {
      asks: question.asks,
      at: new Date().toISOString(),
      machine: machine(),
      rounds,
      figures: answer.figures,
    };
}
if (!values.smoke) {
  // What is asked no more has no last result.
  for (const name of Object.keys(results))
    if (!questions.some((question) => question.name === name)) delete results[name];
  writeFileSync(resultsPath, `${JSON.stringify(results, null, 2)}\n`);
  writeFileSync(readmePath, readme(results));
}
process.exit(isBroken ? 1 : 0);

// Figures of two commits, two runs each, as ratios: node .ci/compare.mjs FOLDER
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = process.argv[2];

/** Mean of both runs of each figure, by "bench figure". */
function figuresOf(side) {
  const sums = new Map();
  for (const run of [1, 2]) {
    const lines = readFileSync(join(folder, `${side}-${run}`), 'utf8').split('\n');
    for (const line of lines.filter((text) => text.startsWith('{'))) {
      const { bench, figures } = JSON.parse(line);
      for (const [name, value] of Object.entries(figures)) {
        const figure = `${bench} ${name}`;
        sums.set(figure, [...(sums.get(figure) ?? []), value]);
      }
    }
  }
  const means = new Map();
  for (const [figure, values] of sums)
    means.set(figure, values.reduce((sum, value) => sum + value, 0) / values.length);
  return means;
}

const before = figuresOf('before');
const now = figuresOf('now');
for (const [figure, value] of now) {
  const was = before.get(figure);
  const ratio = was === undefined || was === 0 ? 'new' : `× ${(value / was).toFixed(2)}`;
  console.log(`      ${ratio.padEnd(8)} ${figure} ${Number(value.toPrecision(4))}`);
}
if (now.size === 0) console.log('      nothing could be measured');

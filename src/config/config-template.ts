import { configKeyNames, environmentName, specOf, type ConfigKey } from './schema.ts';
import type { KeySpec } from './key-spec.ts';

const lineCharacters = 100;

/** Where a value is worked out by the product, an example of how one is written. */
const examples: Readonly<Record<KeySpec['kind'], string>> = {
  text: 'TEXT',
  list: '[]',
  count: '100',
  size: '1GiB',
  duration: '30d',
  address: '127.0.0.1:7117',
  choice: '',
  flag: 'false',
};

/**
 * A whole `millrace.yaml` in which every key stands, commented out, with its default: as it is it changes nothing, and each line can be
 * uncommented by itself. Pure.
 */
export function configTemplate(): string {
  const head = [
    'Settings of millrace. Every key is here with its default; take the "# " away to set one.',
    'Stronger than this file: variables (MILLRACE_QUEUE__FSYNC is queue.fsync), then flags of `millrace serve`.',
    'Check it: millrace config check FILE. What is in force: millrace config show.',
    'Keys marked [live] change without a restart: millrace config reload, or SIGHUP.',
  ];
  const groups = Object.entries(Object.groupBy(configKeyNames, (key) => key.split('.')[0] ?? ''));
  return [
    ...head.map((line) => `# ${line}`),
    ...groups.flatMap(([, keys = []]) => ['', ...keys.flatMap(entry)]),
    '',
  ].join('\n');
}

function entry(key: ConfigKey): string[] {
  const spec = specOf(key);
  const notes = [
    `${spec.help}${spec.choices === undefined ? '' : ` (${spec.choices.join(', ')})`}`,
    ...(spec.isLive === true ? ['[live]'] : []),
    `[${environmentName(key)}]`,
  ].join(' ');
  return [...wrap(notes).map((line) => `## ${line}`), `# ${key}: ${valueText(spec)}`];
}

function valueText(spec: KeySpec): string {
  const text = spec.default ?? examples[spec.kind];
  if (spec.kind === 'list') return text === '' ? '[]' : text;
  return text;
}

function wrap(text: string): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + word.length + 1 > lineCharacters) {
      lines.push(line);
      line = '';
    }
    line = line === '' ? word : `${line} ${word}`;
  }
  return line === '' ? lines : [...lines, line];
}

/** Names of scenarios in short: `Match1 [3]#2` stands in the entry of Match1 as `3#2`; runs of numbers as `1-5`, of examples as `3#1-4`. */
export type ScenarioList = Readonly<Record<string, string>>;

export function namesOf(list: ScenarioList): readonly string[] {
  return Object.entries(list).flatMap(([feature, text]) =>
    text
      .split(' ')
      .flatMap(spread)
      .map(
        (number) => `${feature} [${number.replace('#', ']#')}${number.includes('#') ? '' : ']'}`,
      ),
  );
}

function spread(word: string): readonly string[] {
  const [head = '', examples] = word.split('#');
  if (examples !== undefined) return range(examples).map((one) => `${head}#${one}`);
  return range(head).map(String);
}

function range(text: string): readonly number[] {
  const [first = 0, last = first] = text.split('-').map(Number);
  return Array.from({ length: last - first + 1 }, (_, at) => first + at);
}

export function listOf(names: readonly string[]): ScenarioList {
  const features = Map.groupBy(names, (name) => name.split(' ')[0] ?? '');
  return Object.fromEntries(
    [...features].map(([feature, some]) => [feature, wordsOf(some).join(' ')]),
  );
}

function wordsOf(names: readonly string[]): readonly string[] {
  const plain: number[] = [];
  const outlines = new Map<number, number[]>();
  for (const name of names) {
    const [, number = '', example] = /\[(\d+)\](?:#(\d+))?/.exec(name) ?? [];
    if (example === undefined) plain.push(Number(number));
    else outlines.set(Number(number), [...(outlines.get(Number(number)) ?? []), Number(example)]);
  }
  return [
    ...runs(plain),
    ...[...outlines].flatMap(([number, some]) => runs(some).map((run) => `${number}#${run}`)),
  ];
}

function runs(numbers: readonly number[]): readonly string[] {
  const found: { first: number; last: number }[] = [];
  for (const number of numbers.toSorted((a, b) => a - b)) {
    const open = found.at(-1);
    if (open !== undefined && number === open.last + 1) open.last = number;
    else found.push({ first: number, last: number });
  }
  return found.map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`));
}

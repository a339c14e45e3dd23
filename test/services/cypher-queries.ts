/** Queries of people who know Cypher and not our graph by heart: made of a seed, so that one that the stores disagree about can be made again. */

/** A number from 0 to below 1, the next of its seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const labels = ['Session', 'Event', 'ToolCall', 'OrchestratorRun', 'Iteration', 'Delegation'];
const types = ['HAS_EVENT', 'HAS_EXECUTION', 'HAS_PART', 'HAS_TOOL_CALL', 'CAUSED', 'SPAWNED'];
const texts = ['session_id', 'node_id', 'status', 'tool_name', 'event_name', 'nothing'];
const times = ['started_at', 'ended_at', 'occurred_at', 'last_updated'];
const numbers = ['usage_input', 'usage_output', 'block_index', 'sequence'];
const booleans = ['result_success', 'has_system'];

const values = [
  'null',
  'true',
  'false',
  '0',
  '1',
  '2',
  '-1',
  '1.0',
  '2.5',
  '-0.5',
  '9223372036854775807',
  "''",
  "'a'",
  "'B'",
  "'é'",
  "'👍'",
  "'10'",
  '[]',
  '[1]',
  '[1, null]',
  "['a', 1]",
  '[[1], 2]',
  '{}',
  '{a: 1}',
  '{a: null}',
  "{b: 'x', a: 2}",
  "datetime('2026-02-03T04:05:06.7Z')",
  "date('2026-02-03')",
  "duration('P1M2DT3S')",
];

class QueryMaker {
  readonly #next: () => number;
  /** Nodes that the patterns bind. */
  #nodes: string[] = [];
  #edges: string[] = [];

  constructor(seed: number) {
    this.#next = randomOf(seed);
  }

  query(): string {
    return this.#isLucky(0.4) ? this.#ofValues() : this.#ofGraph();
  }

  /** Values of all kinds, put through expressions, groups and orders. */
  #ofValues(): string {
    const list = (): string =>
      `[${Array.from({ length: 1 + this.#below(6) }, () => this.#pick(...values)).join(', ')}]`;
    const x = `UNWIND ${list()} AS x`;
    const y = this.#pick('', ` UNWIND ${list()} AS y`, ` WITH x, ${this.#mixed('x', 'x')} AS y`);
    const second = y === '' ? 'x' : 'y';
    const one = (): string => this.#mixed('x', second);
    const isGrouped = this.#isLucky(0.4);
    const columns = isGrouped
      ? [
          one(),
          this.#pick(
            'count(*)',
            `count(DISTINCT ${second})`,
            `min(${second})`,
            `max(${second})`,
            `size(collect(DISTINCT ${second}))`,
            'count(x)',
          ),
        ]
      : Array.from({ length: 1 + this.#below(2) }, one);
    const returned = columns.map((column, at) => `${column} AS c${at}`).join(', ');
    const order = columns.map((_, at) => `c${at}${this.#pick('', ' DESC')}`).join(', ');
    const distinct = this.#pick('', 'DISTINCT ');
    const cut = this.#pick('', ' LIMIT 3', ' SKIP 1');
    return `${x}${y} RETURN ${isGrouped ? '' : distinct}${returned} ORDER BY ${order}${cut}`;
  }

  #mixed(x: string, y: string): string {
    const sign = this.#pick('=', '<>', '<', '<=', '>', '>=', 'IN');
    const other = sign === 'IN' ? `[${y}, ${this.#pick(...values)}]` : y;
    return this.#pick(
      x,
      y,
      `${x} ${sign} ${other}`,
      `[${x}, ${y}]`,
      `{a: ${x}, b: [${y}]}`,
      `[${x}] + ${y}`,
      `[${x}] ${this.#pick('=', '<', '>=')} [${y}]`,
      `coalesce(${x}, ${y})`,
      `nullIf(${x}, ${y})`,
      `CASE ${x} WHEN ${y} THEN 'same' WHEN null THEN 'null' ELSE 'other' END`,
      `${x} IS NULL OR ${x} = ${y}`,
      `${x} = ${y} XOR ${y} IS NOT NULL`,
      `any(z IN [${x}, ${y}] WHERE z = ${x})`,
      `all(z IN [${x}, 1] WHERE z <> ${y})`,
      `none(z IN [${y}] WHERE z > ${x})`,
      `single(z IN [${x}, ${y}, 2] WHERE z = 2)`,
      `[z IN [${x}, ${y}, null] WHERE z IS NOT NULL | [z]]`,
      `reduce(s = [], z IN [${x}, ${y}] | s + z)`,
      `[${x}, ${y}, 3][${this.#pick('0', '-1', '5', '-4')}]`,
      `[${x}, ${y}, 3][${this.#pick('1..', '..2', '-2..', '0..9', '2..1')}]`,
      `size([${x}, ${y}])`,
      `head([${x}]) = last([${y}])`,
      `reverse([${x}, ${y}])`,
      `toString(${this.#pick('1', '2.5', '1e10', '0.1', '-0.0', 'true', "'a'", '1e-7')})`,
      `toInteger(${this.#pick("'12'", "' 7 '", "'1.9'", "'x'", '2.9', '-2.9', 'true', "'1e3'")})`,
      `toFloat(${this.#pick("'1.5'", "'1e3'", "'x'", '3', "' 2'")})`,
      `round(${this.#pick('2.5', '-2.5', '2.567', '1e17', '-0.4')}${this.#pick('', ', 1', ', 2')})`,
      `${this.#pick('7', '-7', '7.5')} ${this.#pick('/', '%', '*', '^')} ${this.#pick('2', '-2', '0.5', '3')}`,
      `substring('héllo👍', ${this.#below(7)}${this.#pick('', `, ${this.#below(4)}`)})`,
      `split('a,b,,c', ${this.#pick("','", "''", "'x'")})`,
      `replace('aXbX', 'X', ${this.#pick("''", "'$&'", 'null')})`,
      `range(${this.#below(5)}, ${this.#below(9)}, ${this.#pick('1', '2', '-1')})`,
      `duration({days: ${this.#below(40)}, seconds: ${this.#pick('0.5', '-90', '86401')}})`,
      `datetime('2026-01-31T12:00:00.5Z') + duration({months: ${this.#below(15)}, days: -${this.#below(3)}})`,
      `duration.between(datetime('2026-0${1 + this.#below(9)}-1${this.#below(9)}'), datetime('2024-02-29T23:59:59.999Z'))`,
    );
  }

  #ofGraph(): string {
    const parts = [this.#match()];
    if (this.#isLucky(0.25)) parts.push(this.#match('OPTIONAL '));
    const columns = this.#columns();
    const returned = columns.map((column, at) => `${column} AS c${at}`).join(', ');
    const order = columns.map((_, at) => `c${at}${this.#isLucky(0.3) ? ' DESC' : ''}`).join(', ');
    const distinct = this.#isLucky(0.25) ? 'DISTINCT ' : '';
    const cut = this.#pick('', ` LIMIT ${this.#below(9)}`, ` SKIP ${this.#below(4)} LIMIT 20`);
    return `${parts.join(' ')} RETURN ${distinct}${returned} ORDER BY ${order}${cut}`;
  }

  #match(optional = ''): string {
    const isJoined = optional !== '';
    const first = isJoined ? (this.#nodes[0] ?? 'a') : this.#node(0.9);
    const hops = isJoined ? 1 : this.#below(3);
    let pattern = isJoined ? `(${first})` : first;
    for (let hop = 0; hop < hops; hop += 1) pattern += `${this.#edge()}${this.#node(0.5)}`;
    const where = this.#isLucky(0.4) ? ` WHERE ${this.#condition(2)}` : '';
    return `${optional}MATCH ${pattern}${where}`;
  }

  #node(labelled: number): string {
    const name = 'abcdefg'[this.#nodes.length] ?? 'z';
    this.#nodes.push(name);
    if (!this.#isLucky(labelled)) return `(${name})`;
    const label = this.#pick(...labels);
    const more = this.#pick('', '', '', `|${this.#pick(...labels)}`, '&!Nothing');
    const map = this.#isLucky(0.1) ? ` {status: 'success'}` : '';
    return `(${name}:${label}${more}${map})`;
  }

  #edge(): string {
    const name = `r${this.#edges.length}`;
    const length = this.#pick('', '', '', '*1..2', '*0..2');
    const type = this.#isLucky(0.45) ? `:${this.#pick(...types)}` : '';
    if (length === '') this.#edges.push(name);
    const inside = length === '' ? `[${name}${type}]` : `[${type}${length}]`;
    return this.#pick(`-${inside}->`, `<-${inside}-`, `-${inside}-`);
  }

  #columns(): readonly string[] {
    const count = 1 + this.#below(3);
    const isGrouped = this.#isLucky(0.4);
    const plain = Array.from({ length: count }, () => this.#value(2));
    return isGrouped ? [...plain.slice(1), this.#aggregate()] : plain;
  }

  #aggregate(): string {
    const { text, number, time } = this.#properties();
    const distinct = this.#pick('', 'DISTINCT ');
    return this.#pick(
      'count(*)',
      `count(${distinct}${text})`,
      `sum(${number})`,
      `avg(${number})`,
      `min(${this.#pick(text, number, time)})`,
      `max(${this.#pick(text, number, time)})`,
      `size(collect(${distinct}${text}))`,
      `count(${distinct}${this.#name()})`,
    );
  }

  #properties(): Readonly<Record<'text' | 'number' | 'time' | 'boolean', string>> {
    return {
      text: `${this.#name()}.${this.#pick(...texts)}`,
      number: `${this.#name()}.${this.#pick(...numbers)}`,
      time: `${this.#name()}.${this.#pick(...times)}`,
      boolean: `${this.#name()}.${this.#pick(...booleans)}`,
    };
  }

  #value(depth: number): string {
    if (depth === 0) return this.#pick(...Object.values(this.#properties()));
    return this.#pick(
      () => this.#text(depth - 1),
      () => this.#number(depth - 1),
      () => this.#properties().time,
      () => this.#properties().boolean,
      () => `labels(${this.#name()})[0]`,
      () => `[${this.#text(0)}, ${this.#number(0)}, null]`,
      () => `{k: ${this.#text(0)}, n: ${this.#number(0)}}`,
      () => `CASE WHEN ${this.#condition(depth - 1)} THEN ${this.#text(0)} ELSE 'else' END`,
      () => `coalesce(${this.#text(0)}, 'none')`,
      () => `[x IN [1, 2, null, 3] WHERE x > ${this.#number(0)} | x + 1]`,
      () => `(${this.#condition(depth - 1)})`,
      () => `duration.between(${this.#properties().time}, ${this.#properties().time})`,
      () => `datetime.truncate('minute', ${this.#properties().time})`,
      () => `EXISTS { (${this.#name()})-[:${this.#pick(...types)}]->() }`,
      () => `COUNT { (${this.#name()})--() }`,
      () => `size([(${this.#name()})-->(y) | y.node_id])`,
    )();
  }

  #text(depth: number): string {
    const { text } = this.#properties();
    if (depth === 0) return this.#pick(text, text, `'${this.#pick('a', 'tool', 'é👍')}'`);
    const inner = this.#text(depth - 1);
    return this.#pick(
      text,
      `toUpper(${inner})`,
      `left(${inner}, ${this.#below(6)})`,
      `substring(${inner}, ${this.#below(3)}, ${this.#below(4)})`,
      `replace(${inner}, 'o', '0')`,
      `reverse(${inner})`,
      `toString(${this.#number(0)})`,
      `${inner} + '-' + ${this.#text(0)}`,
      `split(${inner}, '_')[${this.#pick('0', '-1', '7')}]`,
      `trim(${inner})`,
    );
  }

  #number(depth: number): string {
    const { number } = this.#properties();
    if (depth === 0) return this.#pick(number, String(this.#below(5)), '2.5', '-3');
    const [a, b] = [this.#number(depth - 1), this.#number(0)];
    return this.#pick(
      number,
      `${a} + ${b}`,
      `${a} - ${b}`,
      `${a} * ${b}`,
      `${a} % 4`,
      `${a} / 2`,
      `abs(${a})`,
      `size(${this.#text(0)})`,
      `toInteger(${this.#text(0)})`,
      `round(${a})`,
      `${this.#properties().time}.epochMillis`,
      `size(labels(${this.#name()}))`,
    );
  }

  #condition(depth: number): string {
    const { text, time, boolean } = this.#properties();
    const sign = this.#pick('=', '<>', '<', '<=', '>', '>=');
    if (depth === 0) return this.#pick(`${text} IS NULL`, boolean, `${this.#number(0)} ${sign} 2`);
    return this.#pick(
      () => `${this.#text(depth - 1)} ${sign} ${this.#text(0)}`,
      () => `${this.#number(depth - 1)} ${sign} ${this.#number(0)}`,
      () => `${time} ${sign} ${this.#properties().time}`,
      () => `${text} STARTS WITH ${this.#text(0)}`,
      () => `${text} CONTAINS '${this.#pick('a', '_', 'tool')}'`,
      () => `${text} IN [${this.#text(0)}, 'success', null]`,
      () => `${text} IS NOT NULL`,
      () => `${boolean} = true`,
      () => `${this.#name()}:${this.#pick(...labels)}`,
      () => `NOT (${this.#condition(depth - 1)})`,
      () =>
        `(${this.#condition(depth - 1)} ${this.#pick('AND', 'OR', 'XOR')} ${this.#condition(depth - 1)})`,
      () => `(${this.#name()})-[:${this.#pick(...types)}]->()`,
      () => `any(l IN labels(${this.#name()}) WHERE l STARTS WITH 'S')`,
      () => `${text} =~ '.*[ao]+.*'`,
    )();
  }

  #name(): string {
    return this.#pick(...this.#nodes);
  }

  #isLucky(chance: number): boolean {
    return this.#next() < chance;
  }

  #below(limit: number): number {
    return Math.floor(this.#next() * limit);
  }

  #pick<T>(...of: readonly T[]): T {
    return of[this.#below(of.length)] as T;
  }
}

export function queryOf(seed: number): string {
  return new QueryMaker(seed).query();
}

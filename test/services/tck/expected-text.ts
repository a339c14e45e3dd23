/**
 * Values as the TCK writes them, both those that are expected and those that were answered, brought into one text: labels and keys sorted, numbers
 * as JavaScript writes them.
 */
export function expectedText(written: string, ignoresListOrder: boolean): string {
  return new ExpectedReader(written, ignoresListOrder).whole();
}

interface AnsweredNode {
  readonly labels: readonly string[];
  readonly properties: Readonly<Record<string, unknown>>;
  readonly id: string;
}

interface AnsweredEdge {
  readonly from: string;
  readonly type: string;
  readonly to: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

interface AnsweredPath {
  readonly nodes: readonly AnsweredNode[];
  readonly relationships: readonly AnsweredEdge[];
}

export function answeredText(value: unknown, ignoresListOrder: boolean): string {
  const text = (one: unknown): string => answeredText(one, ignoresListOrder);
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'string') return quoted(value);
  if (typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return listText(value.map(text), ignoresListOrder);
  if (isNode(value)) return nodeText(value.labels, mapText(ownOf(value.properties), text));
  if (isEdge(value)) return `[:${value.type}${mapText(value.properties, text)}]`;
  if (isPath(value)) return pathText(value, text);
  return `{${membersText(value as Record<string, unknown>, text)}}`;
}

function pathText({ nodes, relationships }: AnsweredPath, text: (one: unknown) => string): string {
  const steps = relationships.map((edge, at) => {
    const isForward = edge.from === nodes[at]?.id;
    const arrow = isForward ? `-${text(edge)}->` : `<-${text(edge)}-`;
    return `${arrow}${text(nodes[at + 1])}`;
  });
  return `<${text(nodes[0])}${steps.join('')}>`;
}

function isNode(value: object): value is AnsweredNode {
  return 'labels' in value && 'workspace' in value;
}

function isEdge(value: object): value is AnsweredEdge {
  return 'from' in value && 'to' in value && 'type' in value;
}

function isPath(value: object): value is AnsweredPath {
  return 'nodes' in value && 'relationships' in value;
}

/** Without what every node of ours has. */
function ownOf(properties: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { node_id: _id, workspace: _workspace, ...own } = properties;
  return own;
}

function nodeText(labels: readonly string[], map: string): string {
  const names = labels.toSorted().map((label) => `:${label}`);
  return `(${names.join('')}${map})`;
}

function mapText(map: Readonly<Record<string, unknown>>, text: (one: unknown) => string): string {
  return Object.keys(map).length === 0 ? '' : ` {${membersText(map, text)}}`;
}

function membersText(
  map: Readonly<Record<string, unknown>>,
  text: (one: unknown) => string,
): string {
  const members = Object.entries(map).map(([key, value]) => `${key}: ${text(value)}`);
  return members.toSorted().join(', ');
}

function listText(items: readonly string[], ignoresOrder: boolean): string {
  return `[${(ignoresOrder ? items.toSorted() : items).join(', ')}]`;
}

function quoted(text: string): string {
  return `'${text}'`;
}

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };

class ExpectedReader {
  readonly #text: string;
  readonly #ignoresListOrder: boolean;
  #at = 0;

  constructor(text: string, ignoresListOrder: boolean) {
    this.#text = text;
    this.#ignoresListOrder = ignoresListOrder;
  }

  whole(): string {
    const value = this.#value();
    this.#space();
    if (this.#at < this.#text.length) throw new Error(`no value: ${this.#text}`);
    return value;
  }

  #value(): string {
    this.#space();
    const sign = this.#text[this.#at];
    if (sign === "'") return quoted(this.#string());
    if (sign === '(') return this.#node();
    if (sign === '{') return `{${this.#members()}}`;
    if (sign === '<') return this.#path();
    if (sign === '[') return this.#text[this.#at + 1] === ':' ? this.#edge() : this.#list();
    const word = /^[^\s,\]})>]+/.exec(this.#text.slice(this.#at))?.[0] ?? '';
    this.#at += Math.max(1, word.length);
    return /^-?[\d.]/.test(word) ? numberText(word) : word;
  }

  #string(): string {
    let text = '';
    for (this.#at += 1; this.#text[this.#at] !== "'"; this.#at += 1) {
      if (this.#at >= this.#text.length) throw new Error(`no end: ${this.#text}`);
      const isEscaped = this.#text[this.#at] === '\\';
      if (isEscaped) this.#at += 1;
      const sign = this.#text[this.#at] ?? '';
      text += isEscaped ? (escapes[sign] ?? sign) : sign;
    }
    this.#at += 1;
    return text;
  }

  #node(): string {
    this.#need('(');
    const labels: string[] = [];
    while (this.#take(':')) labels.push(this.#name());
    this.#space();
    const map = this.#text[this.#at] === '{' ? ` {${this.#members()}}` : '';
    this.#need(')');
    return nodeText(labels, map === ' {}' ? '' : map);
  }

  #edge(): string {
    this.#need('[');
    this.#need(':');
    const type = this.#name();
    this.#space();
    const map = this.#text[this.#at] === '{' ? ` {${this.#members()}}` : '';
    this.#need(']');
    return `[:${type}${map === ' {}' ? '' : map}]`;
  }

  #path(): string {
    this.#need('<');
    let text = this.#node();
    while (!this.#take('>')) {
      const isBack = this.#take('<');
      this.#need('-');
      const edge = this.#edge();
      this.#need('-');
      if (!isBack) this.#need('>');
      text += `${isBack ? '<-' : '-'}${edge}${isBack ? '-' : '->'}${this.#node()}`;
    }
    return `<${text}>`;
  }

  #list(): string {
    this.#need('[');
    const items: string[] = [];
    if (!this.#take(']')) {
      do items.push(this.#value());
      while (this.#take(','));
      this.#need(']');
    }
    return listText(items, this.#ignoresListOrder);
  }

  #members(): string {
    this.#need('{');
    const members: string[] = [];
    if (!this.#take('}')) {
      do {
        const key = this.#name();
        this.#need(':');
        members.push(`${key}: ${this.#value()}`);
      } while (this.#take(','));
      this.#need('}');
    }
    return members.toSorted().join(', ');
  }

  #name(): string {
    this.#space();
    const name = /^(?:`[^`]*`|[\w$]+)/.exec(this.#text.slice(this.#at))?.[0] ?? '';
    this.#at += name.length;
    return name.replaceAll('`', '');
  }

  #take(sign: string): boolean {
    this.#space();
    const isThere = this.#text[this.#at] === sign;
    if (isThere) this.#at += 1;
    return isThere;
  }

  #need(sign: string): void {
    if (!this.#take(sign)) throw new Error(`${sign} expected at ${this.#at}: ${this.#text}`);
  }

  #space(): void {
    while (this.#text[this.#at] === ' ') this.#at += 1;
  }
}

/** Integers beyond 2^53 are answered as text. */
function numberText(word: string): string {
  if (/^-?\d+$/.test(word) && !Number.isSafeInteger(Number(word))) return quoted(word);
  const number = Number(word);
  return Number.isNaN(number) ? word : String(number);
}

import { isJsonObject, parseJson, type JsonObject, type JsonValue } from '#base';
import type { RedactRule } from '#config';
import type { AcceptedEvent } from '#record';
import { keyPatterns, secretAssignment, secretMember, urlCredentials } from './redact-sets.ts';

/** How often each rule took something out, by the rule's name. */
export type RedactCounts = Map<string, number>;

/** Takes out of an event what rules name, before anything of it is stored. Pure but for the counts. */
export type Redactor = (event: AcceptedEvent, counts: RedactCounts) => AcceptedEvent;

/** Undefined without rules: then nothing is looked at. */
export function createRedactor(rules: readonly RedactRule[]): Redactor | undefined {
  if (rules.length === 0) return undefined;
  return (event, counts) => {
    const walk = new Walk(rules, counts);
    const data = walk.value(parseJson(event.dataBytes), ['data'], 'data');
    const more = event.moreBytes === undefined ? undefined : parseJson(event.moreBytes);
    const rest = more === undefined ? undefined : walk.value(more, [], '');
    if (!walk.hasChanged) return event;
    return {
      ...event,
      dataBytes: Buffer.from(JSON.stringify(data)),
      moreBytes: rest === undefined ? undefined : Buffer.from(JSON.stringify(rest)),
    };
  };
}

/** Members that an event is nothing without; their values stay, whatever a pattern says. */
const kept: ReadonlySet<string> = new Set(['timestamp', 'session_id']);

class Walk {
  readonly #rules: readonly RedactRule[];
  readonly #counts: RedactCounts;
  hasChanged = false;

  constructor(rules: readonly RedactRule[], counts: RedactCounts) {
    this.#rules = rules;
    this.#counts = counts;
  }

  /** `name` is that of the member that holds the value. */
  value(given: JsonValue, path: readonly string[], name: string): JsonValue {
    const rule = this.#rules.find((one) => takesWhole(one, path, name, given));
    if (rule !== undefined) return this.#taken(rule.name);
    if (typeof given === 'string') return this.#text(given);
    if (Array.isArray(given))
      return (given as readonly JsonValue[]).map((item, at) =>
        this.value(item, [...path, String(at)], name),
      );
    return isJsonObject(given) ? this.#object(given, path) : given;
  }

  #object(given: JsonObject, path: readonly string[]): JsonObject {
    const isData = path.length === 1 && path[0] === 'data';
    return Object.fromEntries(
      Object.entries(given).map(([name, value]) =>
        isData && kept.has(name)
          ? [name, value]
          : [this.#text(name), this.value(value, [...path, name], name)],
      ),
    );
  }

  #text(given: string): string {
    let text = given;
    for (const rule of this.#rules) {
      if (rule.kind === 'pattern') text = this.#replaced(text, rule.pattern, rule.name);
      if (rule.kind !== 'set') continue;
      if (rule.name === 'keys')
        for (const pattern of keyPatterns) text = this.#replaced(text, pattern, rule.name);
      else {
        text = this.#replaced(text, urlCredentials, rule.name);
        text = this.#replaced(text, secretAssignment, rule.name);
      }
    }
    return text;
  }

  /** What a pattern's first group holds stays: it is the name in front of the secret. */
  #replaced(text: string, pattern: RegExp, name: string): string {
    return text.replace(pattern, (whole: string, ...groups: unknown[]) => {
      const isOurs = pattern === secretAssignment || pattern === urlCredentials;
      const before = isOurs && typeof groups[0] === 'string' ? groups[0] : '';
      if (whole.slice(before.length).startsWith(mark(name))) return whole;
      return `${before}${this.#taken(name)}`;
    });
  }

  #taken(name: string): string {
    this.hasChanged = true;
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    return mark(name);
  }
}

function mark(name: string): string {
  return `[REDACTED:${name}]`;
}

/** A path names the value; a member's name says that it is a secret, as long as it is no structure. */
function takesWhole(
  rule: RedactRule,
  path: readonly string[],
  name: string,
  value: JsonValue,
): boolean {
  if (value === null || value === '') return false;
  if (rule.kind === 'path') return matches(rule.path, path);
  if (rule.kind !== 'set' || rule.name !== 'secrets' || !secretMember.test(name)) return false;
  return typeof value === 'string' || typeof value === 'number';
}

function matches(wanted: readonly string[], path: readonly string[]): boolean {
  const [first, ...rest] = wanted;
  if (first === undefined) return path.length === 0;
  if (first === '**')
    return path.some((_, at) => matches(rest, path.slice(at))) || matches(rest, []);
  const [head, ...tail] = path;
  return head !== undefined && (first === '*' || first === head) && matches(rest, tail);
}

import type { RedactRule } from '#config';
import type { AcceptedEvent } from '#record';
import { valuesRedacted } from '#signals';
import { createRedactor, type RedactCounts, type Redactor } from './redact.ts';

/** What every append of an event goes through; the event itself where no rule is set or none finds anything. */
export type Redaction = (event: AcceptedEvent) => AcceptedEvent;

/** Redaction by the rules as they are at each event (a reload may change them); tells how much was taken out. */
export function createRedaction(rulesNow: () => readonly RedactRule[]): Redaction {
  let rules: readonly RedactRule[] = [];
  let redactor: Redactor | undefined;
  return (event) => {
    const now = rulesNow();
    if (now !== rules) {
      rules = now;
      redactor = createRedactor(now);
    }
    if (redactor === undefined) return event;
    const counts: RedactCounts = new Map();
    const redacted = redactor(event, counts);
    if (counts.size > 0) valuesRedacted.publish(() => ({ counts: Object.fromEntries(counts) }));
    return redacted;
  };
}

import { expect, it } from 'vitest';
import { checkConfirmed, confirmOf } from '../../src/ops/letters/confirm-shown.ts';

it('confirms what was shown and nothing else: one thing by its name, several by a digest that no order changes (ING-923)', () => {
  expect(confirmOf(['w~a'])).toBe('w~a');
  const both = confirmOf(['w~a', 'w~b']);
  expect(both).toMatch(/^[0-9a-f]{16}$/);
  expect(confirmOf(['w~b', 'w~a'])).toBe(both);
  checkConfirmed(both, ['w~a', 'w~b']);
  checkConfirmed(undefined, ['w~a', 'w~b', 'w~c']);
  expect(() => checkConfirmed(both, ['w~a', 'w~b', 'w~c'])).toThrow(/other than what the dry run/);
  expect(() => checkConfirmed('w~a', [])).toThrow(/nothing was done/);
});

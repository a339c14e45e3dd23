import { describe, expect, it } from 'vitest';
import { checkCypher } from '../../src/graph/cypher/index.ts';
import { faultPlace } from '../../src/graph/neo4j/fault-place.ts';

describe('a fault that the server met while a query ran', () => {
  it.each([
    ['RETURN 1 / 0 AS x', '/ by zero', 9],
    ['RETURN 1 + 9223372036854775807', 'long overflow', 9],
    ["MATCH (n) RETURN date('nope')", "22N36: Cannot parse 'nope' as a Date.", 17],
    ["RETURN datetime('x y')", "22N36: Cannot parse 'x y' as a DateTime.", 7],
    [
      'MATCH (n) WHERE EXISTS { (n)-->(m {a: toInteger(m)}) } RETURN n',
      'of function tointeger().',
      38,
    ],
    ["MATCH (n) WHERE n.a =~ '(' RETURN n", "Invalid argument: cannot process '('.", 20],
    ['RETURN range(1, 2, 0)', "Expected 'step' to be of type INTEGER", 7],
    ["RETURN substring('a', -1)", 'Cannot handle negative start index nor negative length', 7],
    ['MATCH (n) RETURN n LIMIT -1', "Expected 'LIMIT' to be INTEGER", 25],
    // Two parts can have it, or none is known to: nothing is guessed.
    ['RETURN 1 / 1 + 1 / 0', '/ by zero', undefined],
    ['RETURN 1', 'something else', undefined],
  ])('%s is told with its place where one part alone can have it', (text, message, place) => {
    expect(faultPlace(checkCypher(text).query, message)).toBe(place);
  });
});

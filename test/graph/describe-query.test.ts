import { expect, it } from 'vitest';
import { describeQuery, knowsColumn, namedQueries } from '#graph';

it('gives every column of every named query a meaning, so that rows have a schema', () => {
  const unknown = namedQueries.flatMap(({ name, columns }) =>
    columns.filter((column) => !knowsColumn(column)).map((column) => `${name}.${column}`),
  );
  expect(unknown).toEqual([]);
});

it('describes each parameter with its kind, bounds and default', () => {
  for (const query of namedQueries) {
    const { parameters } = describeQuery(query);
    const properties = parameters['properties'] as Record<string, Record<string, unknown>>;
    expect(Object.keys(properties)).toEqual(Object.keys(query.parameters));
    for (const [name, { default: preset }] of Object.entries(query.parameters))
      expect(properties[name]?.['default'], `${query.name}.${name}`).toBe(preset);
  }
});

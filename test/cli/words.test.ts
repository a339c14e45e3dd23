import { describe, expect, it } from 'vitest';
import { AssertionFailed, defineError, type Disposition } from '#base';
import { lateClient, placeInput, type Client } from '../../src/cli/client.ts';
import { daemonUnreachable, errorOfAnswer, outputFailed, usage } from '../../src/cli/errors.ts';
import { exitCodeOfError } from '../../src/cli/exit-code.ts';
import { findDaemon } from '../../src/cli/find-daemon.ts';
import { facts, resultTable, table } from '../../src/cli/print.ts';

describe('exit codes', () => {
  it('follow the disposition, with the exceptions that shells know (D20)', () => {
    const made = (disposition: Disposition): Error =>
      defineError(`TEST_${disposition.toUpperCase()}`, disposition, () => 'x')({});
    expect(
      (['retry', 'reject', 'poison', 'fenced', 'corrupt', 'fatal'] as const).map((disposition) =>
        exitCodeOfError(made(disposition)),
      ),
    ).toEqual([75, 1, 1, 75, 74, 78]);
    expect(exitCodeOfError(daemonUnreachable({ url: 'u', reason: 'r' }))).toBe(69);
    expect(exitCodeOfError(usage({ problem: 'p' }))).toBe(2);
    expect(exitCodeOfError(outputFailed({ path: 'p', reason: 'r' }))).toBe(73);
    expect(exitCodeOfError(new AssertionFailed('bug'))).toBe(70);
    expect(exitCodeOfError(new TypeError('bug'))).toBe(70);
  });

  it('follow the status of an answer, whatever its code is called', () => {
    const codeOf = (status: number, code = 'ANY'): number =>
      exitCodeOfError(errorOfAnswer(status, code, 'm', undefined));
    expect([429, 503, 404, 409, 422, 500].map((status) => codeOf(status))).toEqual([
      75, 75, 1, 1, 1, 74,
    ]);
    expect(codeOf(401, 'UNAUTHENTICATED')).toBe(77);
    expect(codeOf(403, 'FORBIDDEN')).toBe(77);
  });
});

describe('finding the daemon (D29)', () => {
  const runtimeFile = '{"url":"http://127.0.0.1:9","pid":1,"started":"x"}';

  const root = { path: '/a', runtimeFile };
  const environmentRoot = { path: '/b', runtimeFile: '{"url":"http://b"}' };
  const environmentUrl = 'http://e';

  it('lets the command line win over the environment (B160)', () => {
    const all = { url: 'http://a', port: 3, root, environmentUrl, environmentRoot };
    expect(findDaemon(all)).toEqual({ url: 'http://a', root, isByRoot: false });
    const port = { url: 'http://127.0.0.1:3', root, isByRoot: false };
    expect(findDaemon({ ...all, url: undefined })).toEqual(port);
    const byRoot = { url: 'http://127.0.0.1:9', root, isByRoot: true };
    expect(findDaemon({ root, environmentUrl, environmentRoot })).toEqual(byRoot);
    const environment = { url: 'http://e', root: environmentRoot, isByRoot: false };
    expect(findDaemon({ environmentUrl, environmentRoot })).toEqual(environment);
    const environmentOnly = { url: 'http://b', root: environmentRoot, isByRoot: true };
    expect(findDaemon({ environmentUrl: '', environmentRoot })).toEqual(environmentOnly);
    expect(findDaemon({ port: 3, environmentRoot })).toEqual({ ...port, root: undefined });
    expect(findDaemon({})).toEqual({ url: 'http://127.0.0.1:7117', isByRoot: false });
  });

  it('guesses no address for a root that was named (B160)', () => {
    for (const text of [undefined, '', '{', '{"pid":1}']) {
      const silent = { path: '/a', runtimeFile: text };
      expect(findDaemon({ root: silent, environmentUrl }).url).toBeUndefined();
      expect(findDaemon({ environmentRoot: silent }).url).toBeUndefined();
    }
  });
});

describe('a client that looks anew at each call', () => {
  it('is made while there is no daemon, and finds the one that comes, wherever that listens', async () => {
    const found: Client[] = [];
    const client = lateClient(() => {
      const one = found.at(-1);
      if (one === undefined) throw new Error('nobody serves it');
      return one;
    });
    const route = { method: 'GET', path: '/' };
    await expect(client.call(route, {})).rejects.toThrow('nobody serves it');
    for (const url of ['http://one', 'http://two']) {
      const { stream, send } = client;
      found.push({ url, stream, send, call: () => Promise.resolve(url) });
      expect(await client.call(route, {})).toBe(url);
    }
    expect(client.url).toBe('http://two');
  });
});

describe('placing input', () => {
  it('fills the path, then the query of a GET or the body of the rest', () => {
    const input = { session: 'a/b c', limit: 5, state: undefined };
    expect(placeInput({ method: 'GET', path: '/v1/sessions/{session}' }, input)).toEqual({
      path: '/v1/sessions/a%2Fb%20c?limit=5',
      body: undefined,
    });
    expect(placeInput({ method: 'POST', path: '/v1/x/{session}' }, input)).toEqual({
      path: '/v1/x/a%2Fb%20c',
      body: '{"limit":5}',
    });
  });
});

describe('printing', () => {
  it('aligns columns, numbers to the right, and keeps a row on one line', () => {
    const text = table(
      ['name', 'count'],
      [
        ['read', 3],
        ['a\nb', 120],
      ],
    );
    expect(text.split('\n')).toEqual(['NAME  COUNT', 'read      3', 'a b     120']);
  });

  it('cuts a long cell and shows what is absent', () => {
    expect(resultTable(['nodeId', 'n'], [['x', 1]]).split('\n')[0]).toBe('nodeId  n');
    const [, row] = table(['a', 'b'], [['x'.repeat(200), null]]).split('\n');
    expect(row?.length).toBeLessThan(90);
    expect(row).toMatch(/… {2}-$/);
  });

  it('indents nested members and names what is empty', () => {
    expect(facts({ a: 1, deep: { b: 'x' }, list: [], none: {}, many: ['p'] })).toBe(
      'a     1\ndeep\n  b  x\nlist  none\nnone  none\nmany\n  - p',
    );
  });
});

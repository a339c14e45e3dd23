import { describe, expect, it } from 'vitest';
import {
  checkListen,
  createAccess,
  isLoopback,
  mayUseWorkspace,
  requireScope,
  scopes,
  type Access,
  type Recognised,
  type TokenStore,
} from '#access';
import type { MillraceError } from '#base';
import { fakeClock } from '../support/clock.ts';

const reader = {
  name: 'reader',
  scopes: new Set(['ops:read'] as const),
  workspaces: ['w'],
};

function store(secrets: Readonly<Record<string, Recognised>>): TokenStore {
  return {
    count: () => Object.keys(secrets).length,
    recognise: (secret: string) => secrets[secret] ?? { refusal: 'unknown' },
  } as Partial<TokenStore> as TokenStore;
}

const withTokens = store({ good: { principal: reader }, old: { refusal: 'expired' } });
const withoutTokens = store({});

function accessOf(options: {
  readonly tokens?: TokenStore;
  readonly mode?: 'auto' | 'none';
  readonly listenHost?: string;
  readonly allowedHosts?: readonly string[];
}): Access {
  return createAccess({
    tokens: withTokens,
    clock: fakeClock(),
    mode: 'auto',
    listenHost: '127.0.0.1',
    allowedHosts: [],
    rootId: 'SR-a',
    ...options,
  });
}

function codeOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    return (error as MillraceError).code;
  }
  return 'none';
}

describe('access', () => {
  it('asks for nothing on loopback while no token exists, and grants everything', () => {
    const access = accessOf({ tokens: withoutTokens });
    for (const header of [undefined, 'Bearer left-over']) {
      const principal = access.authenticate(header);
      expect(principal.name).toBe('local');
      expect(scopes.every((scope) => principal.scopes.has(scope))).toBe(true);
      expect(mayUseWorkspace(principal, 'any')).toBe(true);
    }
  });

  it('asks for a token on loopback as soon as one exists', () => {
    const access = accessOf({});
    expect(access.authenticate('Bearer good')).toBe(reader);
    expect(access.authenticate('bearer  good')).toBe(reader);
    for (const header of [undefined, '', 'Bearer', 'Bearer bad', 'Basic good', 'Bearer good more'])
      expect(codeOf(() => access.authenticate(header))).toBe('UNAUTHENTICATED');
    expect(codeOf(() => access.authenticate('Bearer old'))).toBe('UNAUTHENTICATED');
    expect(codeOf(() => access.authenticate(`Bearer ${'a'.repeat(100_000)}`))).toBe(
      'UNAUTHENTICATED',
    );
  });

  it('asks for none at all with auth.mode none on loopback', () => {
    expect(accessOf({ mode: 'none' }).authenticate(undefined).name).toBe('local');
  });

  it('never falls back to asking for none beyond loopback', () => {
    let tokens = withTokens;
    const access = createAccess({
      tokens: { ...withTokens, count: () => tokens.count() },
      clock: fakeClock(),
      mode: 'auto',
      listenHost: '0.0.0.0',
      allowedHosts: [],
      rootId: 'SR-a',
    });
    tokens = withoutTokens;
    expect(codeOf(() => access.authenticate(undefined))).toBe('UNAUTHENTICATED');
  });

  it('tells who asks where anybody may', () => {
    const access = accessOf({});
    expect(access.identify('Bearer good')).toBe(reader);
    expect(access.identify('Bearer bad')).toBeUndefined();
    expect(access.identify(undefined)).toBeUndefined();
  });

  it('names the scope that is missing', () => {
    expect(codeOf(() => requireScope(reader, 'ops:read'))).toBe('none');
    expect(() => requireScope(reader, 'ops:write')).toThrow(/no scope ops:write/);
    expect(mayUseWorkspace(reader, 'w')).toBe(true);
    expect(mayUseWorkspace(reader, 'W')).toBe(false);
  });

  it('refuses to listen where others can reach it without tokens', () => {
    for (const host of [
      '0.0.0.0',
      '::',
      '10.0.0.5',
      'example.org',
      '128.0.0.1',
      '::ffff:10.0.0.5',
    ]) {
      expect(codeOf(() => checkListen({ mode: 'auto', host, tokenCount: 0 }))).toBe(
        'AUTH_REQUIRED',
      );
      expect(codeOf(() => checkListen({ mode: 'none', host, tokenCount: 3 }))).toBe(
        'AUTH_REQUIRED',
      );
      expect(codeOf(() => checkListen({ mode: 'auto', host, tokenCount: 1 }))).toBe('none');
    }
    for (const host of ['127.0.0.1', '127.9.8.7', '::1', 'localhost', 'LOCALHOST']) {
      expect(isLoopback(host)).toBe(true);
      expect(codeOf(() => checkListen({ mode: 'none', host, tokenCount: 0 }))).toBe('none');
    }
  });
});

describe('browser rules', () => {
  const onLoopback = accessOf({ allowedHosts: ['Mill.example', 'other.example:8443'] });
  const beyond = accessOf({ listenHost: '0.0.0.0' });

  it.each([
    ['127.0.0.1:7117'],
    ['127.0.0.1'],
    ['localhost:80'],
    ['LOCALHOST'],
    ['[::1]:7117'],
    ['mill.example'],
    ['mill.example:443'],
    ['other.example:8443'],
    [undefined],
  ])('takes the Host %s', (host) => {
    expect(codeOf(() => onLoopback.checkBrowser(host, undefined))).toBe('none');
  });

  it.each([
    ['evil.example'],
    ['evil.example:7117'],
    ['127.0.0.1.evil.example'],
    ['localhost.evil.example'],
    ['other.example'],
    ['other.example:1'],
    ['10.0.0.5:7117'],
    ['[::2]:7117'],
    ['user@127.0.0.1'],
    [''],
    [' '],
    ['127.0.0.1:7117:1'],
  ])('refuses the Host %j', (host) => {
    expect(codeOf(() => onLoopback.checkBrowser(host, undefined))).toBe('FORBIDDEN');
  });

  it('refuses who means another root, and asks nobody for one (B160)', () => {
    expect(codeOf(() => onLoopback.checkRoot(undefined))).toBe('none');
    expect(codeOf(() => onLoopback.checkRoot('SR-a'))).toBe('none');
    for (const other of ['SR-b', '', ['SR-a', 'SR-b']])
      expect(codeOf(() => onLoopback.checkRoot(other))).toBe('ROOT_OTHER');
  });

  it('takes any address beyond loopback, where a token is needed anyway, but no name', () => {
    expect(codeOf(() => beyond.checkBrowser('10.0.0.5:7117', undefined))).toBe('none');
    expect(codeOf(() => beyond.checkBrowser('evil.example', undefined))).toBe('FORBIDDEN');
  });

  it('takes its own Origin and no other', () => {
    const host = '127.0.0.1:7117';
    expect(codeOf(() => onLoopback.checkBrowser(host, 'http://127.0.0.1:7117'))).toBe('none');
    expect(codeOf(() => onLoopback.checkBrowser('mill.example', 'https://mill.example'))).toBe(
      'none',
    );
    for (const origin of [
      'http://evil.example',
      'http://127.0.0.1:3000',
      'http://localhost:7117',
      'null',
      '',
      'file://',
    ])
      expect(codeOf(() => onLoopback.checkBrowser(host, origin))).toBe('FORBIDDEN');
  });

  it('keeps control characters of a client out of its messages', () => {
    expect(() => onLoopback.checkBrowser('a\u0007b', undefined)).toThrow(/"a\\u0007b"/);
  });
});

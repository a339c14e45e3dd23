import { describe, expect, it } from 'vitest';
import { describeDiskFault, diskFaultOf, platformError } from '#disk';
import { queueWriteFailed } from '#queue';

describe('a fault of the disk', () => {
  it.each(['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EMFILE', 'ENFILE', 'ESTALE', 'EACCES'])(
    'is told in words with a cure, and without a path: %s (QFS-31)',
    (code) => {
      const { what, cure } = describeDiskFault(platformError(code, 'write', '/secret/w~s/log'));
      expect(what).toContain(`(${code})`);
      expect(what.length).toBeGreaterThan(code.length + 10);
      expect(cure).not.toContain('the log, and');
      expect(what + cure).not.toContain('secret');
    },
  );

  it('is found behind the error that names it to a client', () => {
    const inner = platformError('ENOSPC', 'write', '/x');
    const outer = queueWriteFailed({ reason: 'a test' }, new Error('between', { cause: inner }));
    expect(diskFaultOf(outer)?.code).toBe('ENOSPC');
  });

  it('is known by its number too, as libraries in native code tell it', () => {
    const cause = Object.assign(new Error('Read-only file system'), { code: 30 });
    expect(describeDiskFault(queueWriteFailed({ reason: 'x' }, cause)).what).toContain('EROFS');
    expect(diskFaultOf(Object.assign(new Error('x'), { code: -30_793 }))).toBeUndefined();
    expect(diskFaultOf(Object.assign(new Error('x'), { code: 30.5 }))).toBeUndefined();
  });

  it('is none where a file is missing, a name is taken or a program is wrong', () => {
    for (const code of ['ENOENT', 'EEXIST', 'EBADF', 'EINVAL'])
      expect(diskFaultOf(platformError(code, 'open', '/x'))).toBeUndefined();
    expect(diskFaultOf(new TypeError('x is not a function'))).toBeUndefined();
    expect(diskFaultOf('ENOSPC')).toBeUndefined();
  });
});

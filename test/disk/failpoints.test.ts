import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { armFailpoints, disarmFailpoints, failpoint, lockUnavailable, platformCode } from '#disk';
import { MillraceError } from '#base';
import { fakeClock } from '../support/clock.ts';

const lab = { isLabRoot: true, clock: fakeClock() };

/** What a process does that has a point to stop at. */
const standingStill = `
  import { writeSync } from 'node:fs';
  import { armFailpoints, failpoint } from './src/disk/failpoints.ts';
  armFailpoints('x=stop', { isLabRoot: true, clock: undefined });
  writeSync(1, 'before\\n');
  await failpoint('x');
  writeSync(1, 'behind\\n');
`;

/** T for a process that stands still. */
function stateOf(pid: number | undefined): string | undefined {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text.slice(text.lastIndexOf(')'))[2];
}

afterEach(disarmFailpoints);

function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

describe('failpoints', () => {
  it('do nothing while none is armed', () => {
    expect(failpoint('anything')).toBeUndefined();
  });

  it('are refused on a root that is not a lab root, however well they are written (ING-021)', () => {
    const act = (): void => armFailpoints('x=crash', { ...lab, isLabRoot: false });
    expect(thrownBy(act)).toMatchObject({ code: 'FAILPOINTS_REFUSED', disposition: 'fatal' });
    expect(failpoint('x')).toBeUndefined();
  });

  it('take an empty text on any root', () => {
    armFailpoints('  ; ', { ...lab, isLabRoot: false });
    expect(failpoint('x')).toBeUndefined();
  });

  it.each(['x', 'x=', '=crash', 'x=explode', 'x=error:', 'x=error:enospc', 'x=delay:soon'])(
    'refuse the text %j and arm nothing of it',
    (text) => {
      const act = (): void => armFailpoints(`good=error:EIO;${text}`, lab);
      expect(thrownBy(act)).toMatchObject({ code: 'FAILPOINTS_REFUSED' });
      expect(failpoint('good')).toBeUndefined();
    },
  );

  it.each(['x=crash@0', 'x=crash@-1', 'x=crash@1.5', 'x=delay:3600001', 'x=delay:99999999'])(
    'refuse the number in %j',
    (text) => {
      expect(thrownBy(() => armFailpoints(text, lab))).toMatchObject({
        code: 'FAILPOINTS_REFUSED',
      });
    },
  );

  it('throw as the platform does for its codes, and as millrace does for its own', () => {
    armFailpoints('sync=error:ENOSPC; lock=error:EIO;own=error:LOCK_UNAVAILABLE', lab);
    expect(platformCode(thrownBy(() => failpoint('sync')))).toBe('ENOSPC');
    expect(platformCode(thrownBy(() => failpoint('lock')))).toBe('EIO');
    const own = thrownBy(() => failpoint('own'));
    expect(own).toBeInstanceOf(MillraceError);
    expect(lockUnavailable.is(own)).toBe(true);
    expect(own).toMatchObject({ disposition: 'fatal' });
    expect(failpoint('other')).toBeUndefined();
  });

  it('fire at the nth hit alone', () => {
    armFailpoints('x=error:EIO@3', lab);
    expect([failpoint('x'), failpoint('x')]).toEqual([undefined, undefined]);
    expect(platformCode(thrownBy(() => failpoint('x')))).toBe('EIO');
    expect(failpoint('x')).toBeUndefined();
  });

  it('let the process stand still until it is told to go on', async () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', standingStill], {
      cwd: fileURLToPath(new URL('../..', import.meta.url)),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
    await vi.waitFor(() => expect(stateOf(child.pid)).toBe('T'), 20_000);
    expect(text).toBe('before\n');
    child.kill('SIGCONT');
    await once(child, 'close');
    expect({ code: child.exitCode, text }).toEqual({ code: 0, text: 'before\nbehind\n' });
  });

  it('delay by the clock that was passed in', async () => {
    const clock = fakeClock();
    armFailpoints('slow=delay:250', { isLabRoot: true, clock });
    let isOver = false;
    const waited = failpoint('slow')?.then(() => (isOver = true));
    await clock.advance(249);
    expect(isOver).toBe(false);
    await clock.advance(1);
    await waited;
    expect(isOver).toBe(true);
  });

  it('crash the process on the spot, as kill -9 does', () => {
    const script = `
      import { armFailpoints, failpoint } from '#disk';
      import { systemClock } from '#base';
      armFailpoints('here=crash@2', { isLabRoot: true, clock: systemClock });
      process.on('exit', () => process.stdout.write('exit handler ran'));
      await failpoint('here');
      process.stdout.write('first hit passed');
      await failpoint('here');
      process.stdout.write('never written');
    `;
    const child = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
    });
    expect([child.signal, child.stdout]).toEqual(['SIGKILL', 'first hit passed']);
  });
});

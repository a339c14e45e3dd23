import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readText, repositoryRoot } from '../tidy/source-tree.ts';

const run = promisify(execFile);

/** Commands of the README, one per line of its bash blocks. */
const commands = [...readText('README.md').matchAll(/```bash\n([\s\S]*?)```/g)].flatMap((match) =>
  (match[1] ?? '').split('\n').filter((line) => line.trim() !== ''),
);

/** These install or run all tests: .ci/run executes them from a clean clone. */
const ofTheClone = new Set(['npm ci && npm run demo', 'npm ci && npm test']);

const folder = mkdtempSync(join(tmpdir(), 'millrace-readme-'));
let url = '';
let stop: () => Promise<void> = () => Promise.resolve();

async function bash(command: string): Promise<string> {
  const { stdout } = await run('bash', ['-c', command], {
    cwd: repositoryRoot,
    env: { ...process.env, MILLRACE_URL: url },
    maxBuffer: 16 * 1024 * 1024,
  });
  return stdout;
}

/** Starts the README's own serve line, on a free port and a throwaway root. */
async function serve(line: string): Promise<void> {
  const adapted = line.replace('./millrace-data', join(folder, 'root')).replace(/^npx /, 'exec ');
  const child = spawn('bash', ['-c', `${adapted} --port 0 --ready-fd 3`], {
    cwd: repositoryRoot,
    env: {
      ...process.env,
      PATH: `${join(repositoryRoot, 'node_modules/.bin')}:${folder}:${process.env['PATH'] ?? ''}`,
    },
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
  });
  let errors = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    errors += chunk.toString('utf8');
  });
  stop = async () => {
    if (child.exitCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
  };
  let text = '';
  for await (const chunk of child.stdio[3] as NodeJS.ReadableStream) {
    text += String(chunk);
    if (text.includes('\n')) break;
  }
  if (!text.includes('\n')) throw new Error(`the daemon ended before it was ready:\n${errors}`);
  url = (JSON.parse(text.slice(0, text.indexOf('\n'))) as { url: string }).url;
}

beforeAll(async () => {
  await run('ln', ['-s', join(repositoryRoot, 'bin/millrace.js'), join(folder, 'millrace')]);
  const line = commands.find((command) => command.startsWith('npx millrace serve'));
  if (line === undefined) throw new Error('the README does not say how to serve');
  await serve(line);
});

afterAll(async () => {
  await stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('README', () => {
  it('names the two commands', () => {
    expect(commands.filter((command) => ofTheClone.has(command))).toEqual([...ofTheClone]);
  });

  const usage = commands.filter(
    (command) => !ofTheClone.has(command) && !command.startsWith('npx millrace serve'),
  );
  for (const command of usage) {
    it(`runs: ${command.slice(0, 80)}`, async () => {
      const port = new URL(url).port;
      const out = await bash(command.replaceAll('127.0.0.1:7117', `127.0.0.1:${port}`));
      expect(out.length).toBeGreaterThan(0);
      expect(out).not.toContain('"error"');
    });
  }

  it('runs the demo to its end in under 30 s', async () => {
    const out = await bash('npm run --silent demo');
    expect(out).toContain('EVENT_CONTRADICTS');
  }, 30_000);
});

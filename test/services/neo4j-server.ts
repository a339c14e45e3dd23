import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import neo4j from 'neo4j-driver';
import { systemChance } from '#base';

/** The real server, as its jars from a Maven registry: no container is needed. The cache folder is ignored by git. */
export const neo4jVersion = '5.26.12';
const cache = resolve(import.meta.dirname, '../../.cache');
const jars = join(cache, `neo4j-${neo4jVersion}`);

const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>test</groupId><artifactId>test</artifactId><version>1</version><packaging>pom</packaging>
<dependencies>
<dependency><groupId>org.neo4j</groupId><artifactId>neo4j</artifactId><version>${neo4jVersion}</version></dependency>
<dependency><groupId>org.neo4j.app</groupId><artifactId>neo4j-server</artifactId><version>${neo4jVersion}</version></dependency>
</dependencies></project>`;

/** Fetches the server's jars once; why that cannot be done, or undefined. */
export function cannotFetchNeo4j(): string | undefined {
  return needsJava() ?? copyDependencies(pom, jars);
}

export function needsJava(): string | undefined {
  for (const command of ['java', 'mvn']) {
    const ran = spawnSync(command, ['-version'], { encoding: 'utf8' });
    if (ran.error !== undefined || ran.status !== 0) return `this machine has no ${command}`;
  }
  return undefined;
}

/** Copies what a pom names to a folder of the cache, whole or not at all. */
export function copyDependencies(text: string, folder: string): string | undefined {
  if (existsSync(folder)) return undefined;
  const staging = `${folder}.${process.pid}`;
  mkdirSync(staging, { recursive: true });
  try {
    writeFileSync(join(staging, 'pom.xml'), text);
    const goal = ['dependency:copy-dependencies', '-DincludeScope=runtime'];
    const args = ['-q', '-B', ...goal, `-DoutputDirectory=${join(staging, 'lib')}`];
    const ran = spawnSync('mvn', args, { cwd: staging, encoding: 'utf8', timeout: 600_000 });
    if (ran.status !== 0)
      return `its packages cannot be fetched: ${`${ran.stdout}${ran.stderr}`.trim().slice(0, 300)}`;
    renameSync(join(staging, 'lib'), folder);
    return undefined;
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

export interface Neo4jServer {
  readonly uri: string;
  /** Starts it again on the same folder and port after `kill`. */
  start(): Promise<void>;
  /** As by `kill -9`. */
  kill(): Promise<void>;
  /** Stops it in order and removes its folder. */
  dispose(): Promise<void>;
}

const javaOptions = [
  '-Xms512m',
  '-Xmx768m',
  '--add-opens=java.base/java.nio=ALL-UNNAMED',
  '--add-opens=java.base/java.io=ALL-UNNAMED',
  '--add-opens=java.base/sun.nio.ch=ALL-UNNAMED',
  '--add-opens=java.base/java.util.concurrent=ALL-UNNAMED',
  '--add-exports=java.base/sun.nio.ch=ALL-UNNAMED',
  '-Dio.netty.tryReflectionSetAccessible=true',
];

/** A server on a free loopback port and a folder that nobody else has; resolves once it answers. */
export async function startNeo4j(): Promise<Neo4jServer> {
  const home = await mkdtemp(join(tmpdir(), 'millrace-neo4j-'));
  const port = await freePort();
  const uri = `bolt://127.0.0.1:${port}`;
  mkdirSync(join(home, 'conf'));
  writeFileSync(join(home, 'conf', 'neo4j.conf'), configuration(port));
  let child: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    const main = ['org.neo4j.server.CommunityEntryPoint', `--home-dir=${home}`];
    const args = [...javaOptions, '-cp', join(jars, '*'), ...main, `--config-dir=${home}/conf`];
    child = spawn('java', args, { stdio: 'ignore' });
    await untilItAnswers(uri, child, home);
  };
  await start();
  return {
    uri,
    start,
    async kill() {
      if (child !== undefined) await ended(child, 'SIGKILL');
    },
    async dispose() {
      if (child !== undefined) await ended(child, 'SIGTERM');
      await rm(home, { recursive: true, force: true });
    },
  };
}

function configuration(port: number): string {
  return `server.default_listen_address=127.0.0.1
server.bolt.listen_address=127.0.0.1:${port}
server.http.enabled=false
server.https.enabled=false
dbms.security.auth_enabled=false
server.memory.heap.initial_size=512m
server.memory.heap.max_size=512m
server.memory.pagecache.size=128m
dbms.usage_report.enabled=false
`;
}

/** Below those that systems give away by themselves: a server that is killed and started again would find its port in somebody's connection. */
const ports = { first: 20_000, count: 10_000 } as const;

async function freePort(): Promise<number> {
  for (;;) {
    const port = ports.first + Math.floor(systemChance.float() * ports.count);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((done) => {
    const probe = createServer();
    probe.once('error', () => done(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => done(true)));
  });
}

async function untilItAnswers(uri: string, child: ChildProcess, home: string): Promise<void> {
  const driver = neo4j.driver(uri, undefined, { telemetryDisabled: true });
  try {
    for (let tries = 0; tries < 600; tries += 1) {
      if (child.exitCode !== null) break;
      const isThere = await driver.verifyConnectivity().then(
        () => true,
        () => false,
      );
      if (isThere) return;
      await new Promise((resume) => setTimeout(resume, 200));
    }
  } finally {
    await driver.close();
  }
  const log = await readFile(join(home, 'logs', 'neo4j.log'), 'utf8').catch(() => 'no log');
  throw new Error(`Neo4j did not start:\n${log.slice(-4000)}`);
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((done) => child.once('exit', done));
  child.kill(signal);
  await exited;
}

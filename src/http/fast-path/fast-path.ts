import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { assert, type Clock } from '#base';
import type { AskedHead } from '../doors/asked-events.ts';
import { AnswerHeads } from './answer-heads.ts';
import { FastConnection, type FastServer, type IdleLimits } from './fast-connection.ts';

export interface FastPathOptions {
  readonly clock: Clock;
  /** How often connections that stand still are looked for. */
  readonly checkMs: number;
  readonly nextId: () => string;
  readonly serve: (asked: AskedHead, body: Buffer) => void;
}

/**
 * Stands between a server's sockets and Node's own HTTP: each connection is ours until something comes that is no plain request for events, and
 * Node's from there on. So it is only ever a shorter way for what is entirely plain, and never a second opinion about HTTP (B193).
 */
export class FastPath {
  readonly #options: FastPathOptions;
  readonly #shared: FastServer;
  readonly #idle: IdleLimits;
  readonly #open = new Set<FastConnection>();
  #isClosing = false;
  #isChecking = false;

  /** Takes the place of the server's one listener for connections. */
  constructor(server: Server, options: FastPathOptions) {
    this.#options = options;
    const { keepAliveTimeout, keepAliveTimeoutBuffer } = server;
    this.#idle = {
      keepAliveMs: keepAliveTimeout === 0 ? 0 : keepAliveTimeout + keepAliveTimeoutBuffer,
      firstMs: options.checkMs,
    };
    const [takeOver, ...others] = server.listeners('connection');
    assert(takeOver !== undefined && others.length === 0, 'Node alone listens for connections');
    server.removeAllListeners('connection');
    this.#shared = {
      heads: new AnswerHeads(options.clock, keepAliveTimeout),
      isClosing: () => this.#isClosing,
      nextId: options.nextId,
      serve: options.serve,
      takeOver: (socket) => {
        takeOver.call(server, socket);
      },
      forget: (connection) => this.#open.delete(connection),
    };
    server.on('connection', (socket: Socket) => this.#take(socket));
  }

  #take(socket: Socket): void {
    if (this.#isClosing) {
      this.#shared.takeOver(socket);
      return;
    }
    this.#open.add(new FastConnection(socket, this.#shared, this.#options.clock.monotonic()));
    if (!this.#isChecking) this.#checkLater();
  }

  /** Goes on as long as there are connections. */
  #checkLater(): void {
    const { clock, checkMs } = this.#options;
    this.#isChecking = true;
    clock.after(checkMs, () => {
      const nowMs = clock.monotonic();
      for (const connection of this.#open) connection.checkIdle(nowMs, this.#idle);
      this.#isChecking = false;
      if (this.#open.size > 0) this.#checkLater();
    });
  }

  /** Ends what is idle, and the others behind their answers; to be called again until nothing is left. */
  close(): void {
    this.#isClosing = true;
    for (const connection of this.#open) connection.close();
  }

  /** Ends what is left. */
  cut(): void {
    for (const connection of this.#open) connection.cut();
  }
}

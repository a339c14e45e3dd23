/** Wakes whoever waits when something below the folders changed. A hint: what is missed is found by the next listing. */
export interface WatchHints {
  /** Resolves at the next change, or at the one that nobody has waited for yet. */
  next(): Promise<void>;
  /** The folders are under watch. */
  readonly ready: Promise<void>;
  close(): Promise<void>;
}

/** `onTrouble` is told when the system watches no more folders; listing goes on. */
export async function openWatchHints(
  folders: readonly string[],
  onTrouble: (error: Error) => void,
): Promise<WatchHints> {
  // Loaded here alone: every other verb would pay for it at its start.
  const { watch } = await import('chokidar');
  const watcher = watch([...folders], { ignoreInitial: true });
  let hasChanged = false;
  let wake: (() => void) | undefined;
  watcher.on('all', () => {
    hasChanged = true;
    wake?.();
  });
  watcher.on('error', (error) =>
    onTrouble(error instanceof Error ? error : new Error(String(error))),
  );
  return {
    ready: new Promise((resolve) => {
      watcher.on('ready', () => resolve());
    }),
    async next() {
      if (!hasChanged) await new Promise<void>((resolve) => (wake = resolve));
      hasChanged = false;
      wake = undefined;
    },
    close: () => watcher.close(),
  };
}

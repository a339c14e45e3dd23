/**
 * Watches the calling thread: each call tells for how many ms since the last one it had work and stood without a core, awake in its loop and not running.
 * What others take of the cores shows nowhere else: the thread's own use is the same whether a core was free or not. A call that blocks in the kernel
 * counts as waiting too.
 */
export function watchCore(): () => number {
  let before = stoodMs();
  return () => {
    const now = stoodMs();
    const waitedMs = Math.max(0, now - before);
    before = now;
    return waitedMs;
  };
}

/** Since the thread began. */
function stoodMs(): number {
  const { user, system } = process.threadCpuUsage();
  return performance.eventLoopUtilization().active - (user + system) / 1000;
}

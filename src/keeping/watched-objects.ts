import type { LocalObjects } from '#objects';

/** Objects of which one can ask what was put since a moment: between "nobody names it" and its deletion a new record may come to name it. */
export interface WatchedObjects extends LocalObjects {
  /** Ids that are put from now on, until `end`. */
  watchPuts(): PutWatch;
}

export interface PutWatch {
  readonly put: ReadonlySet<string>;
  end(): void;
}

export function watchedObjects(objects: LocalObjects): WatchedObjects {
  const watches = new Set<Set<string>>();
  return {
    put(sha256, bytes, mediaType) {
      for (const watch of watches) watch.add(sha256);
      return objects.put(sha256, bytes, mediaType);
    },
    read: (sha256) => objects.read(sha256),
    has: (sha256) => objects.has(sha256),
    mediaType: (sha256) => objects.mediaType(sha256),
    each: () => objects.each(),
    remove: (sha256) => objects.remove(sha256),
    close: () => objects.close(),
    watchPuts() {
      const put = new Set<string>();
      watches.add(put);
      return { put, end: () => void watches.delete(put) };
    },
  };
}

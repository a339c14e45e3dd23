import { channel as diagnosticsChannel } from 'node:diagnostics_channel';

/** A typed diagnostics channel: the flow publishes, observers subscribe, and nothing flows back. */
export interface Channel<T> {
  readonly name: string;
  /** Calls every observer now; costs one branch when nobody listens. `make` builds the message only if somebody does. */
  publish(make: () => T): void;
  /** Returns the function that ends the subscription. */
  subscribe(observer: (message: T) => void): () => void;
}

export function defineChannel<T>(name: `millrace:${string}:${string}`): Channel<T> {
  const inner = diagnosticsChannel(name);
  return {
    name,
    publish(make) {
      if (inner.hasSubscribers) inner.publish(make());
    },
    subscribe(observer) {
      const listener = (message: unknown): void => observer(message as T);
      inner.subscribe(listener);
      return () => {
        inner.unsubscribe(listener);
      };
    },
  };
}

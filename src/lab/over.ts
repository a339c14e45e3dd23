/** `inner` with some of its members replaced; all others go to `inner` as they are, also those that come one day. */
export function over<T extends object>(inner: T, replaced: Partial<T>): T {
  return new Proxy(inner, {
    get(target, name) {
      if (Object.hasOwn(replaced, name)) return Reflect.get(replaced, name) as unknown;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
}

/** Replaces single methods of an object of the engine, so that a test decides their answers. */

/** Returns the subject with some methods replaced. Every other call reaches the real subject. */
export const instead = <Subject extends object>(subject: Subject, methods: Partial<Subject>): Subject =>
  new Proxy(subject, {
    get(target, name) {
      const found: unknown = Reflect.get(name in methods ? methods : target, name);
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });

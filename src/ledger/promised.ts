/** Verbs with promises: each runs in a transaction and resolves when that has ended. */
export type Promised<Verbs> = {
  [Name in keyof Verbs]: Verbs[Name] extends (...given: infer Given) => infer End
    ? (...given: Given) => Promise<End>
    : never
}

type Verb = (...given: never[]) => unknown

/** Wraps each verb in a promise. `run` runs its body in a transaction. */
export function promised<Verbs extends Record<keyof Verbs, Verb>>(
  verbs: Verbs,
  run: <T>(body: () => T) => Promise<T>,
): Promised<Verbs> {
  const each = Object.entries<Verb>(verbs).map(([name, verb]) => [
    name,
    (...given: never[]) => run(() => verb(...given)),
  ])
  return Object.fromEntries(each)
}

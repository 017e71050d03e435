/** Joins calls for the same thing: the first does the work, those that come meanwhile get its outcome. */
export type SingleFlight<T> = {
  run(key: string, body: () => Promise<T>): Promise<T>
  has(key: string): boolean
  /** Resolves once nobody does it, also where the work rejects. */
  over(key: string): Promise<void>
}

export function createSingleFlight<T>(): SingleFlight<T> {
  const flights = new Map<string, Promise<T>>()
  return {
    run(key, body) {
      const flying = flights.get(key)
      if (flying !== undefined) return flying
      const flight = body().finally(() => flights.delete(key))
      flights.set(key, flight)
      return flight
    },
    has: (key) => flights.has(key),

    async over(key) {
      await flights.get(key)?.catch(() => undefined)
    },
  }
}

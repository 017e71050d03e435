import type { Facilitator } from '#src/domain/selling/facilitator.ts'

/** A facilitator that settles like another one, except for payments that a test holds back. */
export function createHeldFacilitator(facilitator: Facilitator) {
  let arrived = Promise.withResolvers<void>()
  let released: Promise<void> = Promise.resolve()
  return {
    facilitator: {
      ...facilitator,
      async settle(...given) {
        arrived.resolve()
        await released
        return facilitator.settle(...given)
      },
    } satisfies Facilitator,

    /** Holds payments back until `release`; `arrived` resolves when the first one is there. */
    hold() {
      const gate = Promise.withResolvers<void>()
      arrived = Promise.withResolvers<void>()
      released = gate.promise
      return { arrived: arrived.promise, release: gate.resolve }
    },
  }
}

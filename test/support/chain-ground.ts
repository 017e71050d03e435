/**
 * The environment of payment tests: a local chain, a scripted facilitator, and whatever is started
 * on them.
 */
import { afterAll, afterEach, beforeAll, beforeEach } from 'bun:test'

import {
  type LittlePolygon,
  type LittlePolygonOptions,
  startLittlePolygon,
} from '#dev/sandbox/little-polygon.ts'

import { type ScriptedFacilitator, startScriptedFacilitator } from './scripted-facilitator.ts'

export type Ground = {
  chain: LittlePolygon
  scripted: ScriptedFacilitator
  /** Stops what was started, in reverse order, at the end of the file. */
  keep<T extends { stop(): Promise<void> }>(started: T): T
}

type Options = LittlePolygonOptions & { confirmationTimeoutMs?: number }

/**
 * Starts the chain before the tests of a `describe`; `start` starts the rest and passes everything
 * to the tests.
 */
export function useChain(
  start: (ground: Ground) => void | Promise<void>,
  { confirmationTimeoutMs, ...options }: Options = { slotsInAnEpoch: 0 },
): void {
  const kept: { stop(): Promise<void> }[] = []
  const keep: Ground['keep'] = (started) => {
    kept.push(started)
    return started
  }
  beforeAll(async () => {
    const chain = keep(await startLittlePolygon(options))
    const own = confirmationTimeoutMs === undefined ? {} : { confirmationTimeoutMs }
    const gas = { rpcUrl: chain.url, key: chain.facilitator.key }
    const scripted = keep(await startScriptedFacilitator({ ...gas, ...own }))
    await start({ chain, scripted, keep })
  })
  afterAll(async () => {
    for (const { stop } of kept.splice(0).reverse()) await stop()
  })
}

/** Like `useChain`; after each test, calls `end` and resets the chain. */
export function useChainAfresh(
  start: (ground: Ground) => void | Promise<void>,
  end: () => void | Promise<void>,
): void {
  let ground: Ground | undefined
  let snapshot = ''
  useChain((started) => {
    ground = started
    return start(started)
  }, {})
  beforeEach(async () => {
    snapshot = (await ground?.chain.snapshot()) ?? ''
    ground?.scripted.always('ok')
  })
  afterEach(async () => {
    await end()
    await ground?.chain.revert(snapshot)
  })
}

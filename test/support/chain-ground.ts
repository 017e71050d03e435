/**
 * What tests of payments need for a file: a chain of this machine, a scripted
 * facilitator, and what is started on them.
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
  /** Stops what was started, the last first, when the file is over. */
  keep<T extends { stop(): Promise<void> }>(started: T): T
}

type Options = LittlePolygonOptions & { confirmationTimeoutMs?: number }

/**
 * Starts it before the tests of a `describe`; `start` begins the rest, and hands all to the tests.
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

/** As `useChain`; after each test `end` is called, and the chain is as it was. */
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
    ground?.scripted.resetNonces()
  })
}

import type { Anvil } from './anvil.ts'

/** Actions that are impossible on a real chain. */
export type ChainControls = {
  /** Adds empty blocks. */
  mine(blocks?: number): Promise<void>
  /** Replaces the newest blocks by as many empty ones. */
  reorg(depth: number): Promise<void>
  /** Adds blocks until all earlier ones are `finalized`. */
  finalize(): Promise<void>
  /** Stops mining: transactions wait in the pool. */
  stopMining(): Promise<void>
  /** Mines waiting transactions, and from then on each transaction at once. */
  startMining(): Promise<void>
  /**
   * Sets the time of the next block (Unix seconds); the clock of the chain continues from there.
   */
  setTime(seconds: number): Promise<void>
  /** Time of the newest block, Unix seconds. */
  time(): Promise<number>
  /** Saves the state of the chain; returns a name for `revert`, which can be used once. */
  snapshot(): Promise<string>
  revert(snapshot: string): Promise<void>
}

export function controlChain({ rpc }: Anvil, slotsInAnEpoch: number): ChainControls {
  const mine = async (blocks = 1) => {
    await rpc('anvil_mine', [`0x${blocks.toString(16)}`])
  }

  return {
    mine,
    reorg: async (depth) => {
      await rpc('anvil_reorg', [depth, []])
    },
    // The node counts two epochs back from the newest block.
    finalize: () => mine(2 * slotsInAnEpoch),
    stopMining: async () => {
      await rpc('evm_setAutomine', [false])
    },
    startMining: async () => {
      await rpc('evm_setAutomine', [true])
      await mine()
    },
    setTime: async (seconds) => {
      await rpc('evm_setNextBlockTimestamp', [seconds])
      await mine()
    },
    time: async () => {
      const block = (await rpc('eth_getBlockByNumber', ['latest', false])) as { timestamp: string }
      return Number(block.timestamp)
    },
    snapshot: async () => String(await rpc('evm_snapshot')),
    revert: async (snapshot) => {
      if ((await rpc('evm_revert', [snapshot])) !== true) throw new Error(`no ${snapshot}`)
    },
  }
}

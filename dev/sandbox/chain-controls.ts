import type { Anvil } from './anvil.ts'

/** What nobody can do with a real chain. */
export type ChainControls = {
  /** Adds empty blocks. */
  mine(blocks?: number): Promise<void>
  /** Takes back the newest blocks and puts as many empty ones in their place. */
  reorg(depth: number): Promise<void>
  /** Adds as many blocks as make all before them `finalized`. */
  finalize(): Promise<void>
  /** From now on transactions wait. */
  stopMining(): Promise<void>
  /** Mines what waits, and from now on each transaction at once. */
  startMining(): Promise<void>
  /** The next block is of this time (Unix seconds), the clock of the chain goes on from there. */
  setTime(seconds: number): Promise<void>
  /** Time of the newest block, Unix seconds. */
  time(): Promise<number>
  /** Keeps the chain as it is; a name for `revert`, which can be used once. */
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

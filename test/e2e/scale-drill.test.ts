/**
 * A short version of `bun run drill`: each part of several machines is killed once under load. The
 * long one also suspends, cuts off and delays them.
 */
import { expect, test } from 'bun:test'

import { hasAnvil } from '../support/anvil.ts'
import { postgresPrograms } from '../support/engines/postgres.ts'
import { hasS3 } from '../support/engines/s3.ts'
import { type Line, runRound } from './drill.ts'

const DRILL_MS_MAX = 900_000
const FAULT_MS = 1_000
const hasAll = postgresPrograms !== undefined && hasS3 && hasAnvil

test.skipIf(!hasAll)(
  'behavior: whatever is killed, nothing that was acknowledged is lost or doubled, and the rest goes on',
  async () => {
    const lines: Line[] = []
    const parts = ['recorder-1', 'server-2', 'bucket', 'primary']
    const cases = parts.map((part) => ({ part, fault: 'kill' as const }))
    await runRound(cases, FAULT_MS, (line) => lines.push(line))
    expect(lines.flatMap((line) => line.findings)).toEqual([])
    expect(lines.map(({ part }) => part)).toEqual([...parts, 'judge'])
  },
  DRILL_MS_MAX,
)

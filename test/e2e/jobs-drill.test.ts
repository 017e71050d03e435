/** Two servers of one PostgreSQL: one keeps the sanctions list, and the other after its end. */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { postgresPrograms, startPostgres } from '../support/engines/postgres.ts'
import { startKillableServer } from '../support/killable-server.ts'
import { sdnXml } from '../support/ofac-xml.ts'

const DRILL_MS_MAX = 300_000

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-jobs-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type Jobs = { data: { name: string; outcome: string | null; isRunning: boolean }[] }

/** How the job of a server ended last. */
async function outcomeOf(origin: string, name: string): Promise<string | undefined> {
  const response = await fetch(`${origin}/admin/api/jobs`)
  const { data } = (await response.json()) as Jobs
  return data.find((job) => job.name === name)?.outcome ?? undefined
}

async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await holds())) await Bun.sleep(100)
}

describe.skipIf(postgresPrograms === undefined)('jobs of two servers of a PostgreSQL', () => {
  test(
    'behavior: one fetches the list and screens; when it is killed, the other goes on',
    async () => {
      await using postgres = await startPostgres()
      let downloads = 0
      await using publisher = Bun.serve({
        port: 0,
        hostname: '127.0.0.1',
        fetch() {
          downloads++
          return new Response(sdnXml(), { headers: { 'content-type': 'text/xml' } })
        },
      })
      const start = (name: string) =>
        startKillableServer({
          BOOKFEED_DATA: join(folder, name),
          BOOKFEED_PORT: '0',
          BOOKFEED_LOG: 'off',
          BOOKFEED_HISTORY: postgres.url,
          BOOKFEED_LEDGER: postgres.url,
          BOOKFEED_SANCTIONS_LIST: publisher.url.href,
        })
      const servers = await Promise.all(['first', 'second'].map(start))
      try {
        const outcomes = () =>
          Promise.all(servers.map(({ origin }) => outcomeOf(origin, 'sanctions-list')))
        await until(async () => (await outcomes()).every((outcome) => outcome !== undefined))
        const seen = await outcomes()
        const standby = seen.indexOf('Another server does it now.')
        expect([downloads, seen.filter((outcome) => /current list/.test(outcome ?? ''))]).toEqual([
          1,
          [expect.any(String)],
        ])
        const leader = servers[1 - standby]
        const other = servers[standby]
        await leader?.kill()
        await until(() => downloads === 2)
        await until(async () =>
          /is confirmed/.test((await outcomeOf(other?.origin ?? '', 'sanctions-list')) ?? ''),
        )
        expect(other?.errors()).not.toContain('whose turn')
      } finally {
        for (const server of servers) await server.kill()
      }
    },
    DRILL_MS_MAX,
  )
})

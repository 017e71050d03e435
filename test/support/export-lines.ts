/** The expected content of an export, computed without the code of exports. */

import { expectedRows, type KnownMarket, toText } from './market-history.ts'
import type { Send } from './page-client.ts'
import { withParams } from './page-client.ts'

/** The path of a market's export. */
export const exportOf = ({ path }: KnownMarket, params: Record<string, string> = {}): string =>
  withParams(path.replace(/snapshots$/, 'export'), params)

/** The expected lines of an export; ids are those of the page route. */
export async function expectedLines(send: Send, market: KnownMarket): Promise<string[]> {
  const ids: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const place: Record<string, string> = cursor === '' ? {} : { cursor }
    const response = await send(withParams(market.path, { limit: '1000', ...place }))
    const page = (await response.json()) as { data: { id: string }[]; nextCursor: string | null }
    ids.push(...page.data.map(({ id }) => id))
    cursor = page.nextCursor
  }
  return expectedRows(market).map((row, index) => toText(row, ids[index] ?? ''))
}

export const asFile = (lines: readonly string[]): string =>
  lines.map((line) => `${line}\n`).join('')

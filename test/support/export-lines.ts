/** What an export should hold, written down without any code of the exports. */

import { expectedRows, type KnownMarket, toText } from './market-history.ts'
import type { Send } from './page-client.ts'
import { withParams } from './page-client.ts'

/** Address of the export of a market. */
export const exportOf = ({ path }: KnownMarket, params: Record<string, string> = {}): string =>
  withParams(path.replace(/snapshots$/, 'export'), params)

/** The lines that an export should have; ids are those of the page route. */
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

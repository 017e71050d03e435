/** Programs that read day files. */

import { type QueryValues, urlOf } from './api.ts'

/** The files of many days as one table: a request with the visitor's key. */
export type Archive = { coin: string; query: QueryValues & { kind: string; timeframe: string } }

export const readers = ['DuckDB', 'polars', 'pandas', 'curl'] as const
export type Reader = (typeof readers)[number]

/** Reads files at their links; DuckDB reads `archive` instead, which has links of its own. */
export function toFileCode(
  reader: Reader,
  links: readonly string[],
  archive: Archive | undefined,
): string {
  const list = (indent: string) => links.map((link) => `${indent}"${link}",\n`).join('')
  if (reader === 'polars')
    return `import polars\n\npolars.scan_parquet([\n${list('    ')}]).collect()`
  if (reader === 'pandas')
    return `import pandas\n\nlinks = [\n${list('    ')}]\npandas.concat(pandas.read_parquet(link) for link in links)`
  if (reader === 'curl') return links.map((link) => `curl --fail -O '${link}'`).join('\n')
  if (archive === undefined)
    return `duckdb -c "FROM read_parquet([\n${links.map((link) => `  '${link}',\n`).join('')}])"`
  const { coin, query } = archive
  const url = `${location.origin}${urlOf(`/v1/${coin}/archive.sql`, query)}`
  const view = [coin, query.timeframe, query.kind].join('_')
  return `curl --fail -H "Authorization: Bearer $KEY" -o archive.sql \\\n  '${url}' \\\n  && duckdb -init archive.sql -c 'FROM ${view} LIMIT 10'`
}

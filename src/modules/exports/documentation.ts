/** The operations of exports in the OpenAPI document. */
import { accessCodes } from '#src/http/access.ts'
import { coverageTexts } from '#src/http/coverage-header.ts'
import { dataHeaderTexts, notModified } from '#src/http/data-response.ts'
import { CoinPath, MarketPath } from '#src/http/market-path.ts'
import {
  commonHeaders,
  jsonContent,
  openApiParameters,
  problemResponses,
  textHeader,
} from '#src/http/openapi-operation.ts'
import { STREAM_SECONDS_MAX } from '#src/http/stream.ts'

import { DayExportQuery, ExportList, MarketExportQuery } from './model.ts'

const text = { schema: { type: 'string' as const } }
const binary = { schema: { type: 'string' as const, format: 'binary' } }

const responses = {
  200: {
    description: 'The file. What is cut off before its end is not whole: `GET /v1/exports` tells.',
    headers: {
      ...commonHeaders,
      ...dataHeaderTexts,
      ...coverageTexts,
      'X-Export-Id': textHeader('Finds digest and counts in `GET /v1/exports`.'),
      'Content-Disposition': textHeader('`attachment` with a name for the file.'),
    },
    content: {
      'application/x-ndjson': text,
      'text/csv': text,
      'application/vnd.apache.parquet': binary,
    },
  },
  ...notModified(coverageTexts),
}

const description = `One stream, whatever its length, as fast as you read it. NDJSON holds the objects of \`snapshots\`, a line each; with \`Accept-Encoding: gzip\` it is sent as it is stored, about 90 bytes a snapshot. CSV and Parquet have \`timestamp\`, \`id\`, \`conditionId\`, \`outcome\`, then with \`shape=levels\` \`side\` (\`bid\` or \`ask\`), \`level\` (1 is the best), \`price\`, \`size\`, a row a level; a snapshot without any level is one row without side. With \`shape=states\` they have \`bid_price_1\`, \`bid_size_1\` … \`ask_price_1\` … instead, a row a snapshot. With \`include=receivedAt\` the time at which the recorder received the state comes last: \`receivedAt\`, or the column \`received_at\`; null or empty where it is not known. Parquet: times as TIMESTAMP, prices and sizes as DECIMAL(18,6). A connection that takes nothing for ${STREAM_SECONDS_MAX} seconds is cut off. A download that broke off goes on with \`after\`.`

const codes = [
  'invalid_parameter',
  'invalid_request',
  'unknown_coin',
  'too_many_streams',
  'internal',
] as const

export const marketDetail = {
  tags: ['exports'],
  operationId: 'exportMarket',
  summary: 'All snapshots of a market as one file',
  description,
  parameters: [...openApiParameters(MarketPath, 'path'), ...openApiParameters(MarketExportQuery)],
  responses: {
    ...responses,
    ...problemResponses([...accessCodes('snapshots'), ...codes, 'unknown_market']),
  },
}

export const dayDetail = {
  tags: ['exports'],
  operationId: 'exportDay',
  summary: 'All snapshots of a coin and day as one file',
  description: `The markets of a day one after the other, oldest window first, each as its own export would be. \`X-Coverage\` counts windows that are not held, too: of \`timeframe\`, or of each timeframe held that day. ${description}`,
  parameters: [...openApiParameters(CoinPath, 'path'), ...openApiParameters(DayExportQuery)],
  responses: { ...responses, ...problemResponses([...accessCodes('snapshots'), ...codes]) },
}

export const listDetail = {
  tags: ['exports'],
  operationId: 'listExports',
  summary: 'What became of your exports',
  description:
    'Whether each was sent whole, how many snapshots it had, and its SHA-256 to check a file with. The last 20 of an account, until the server restarts.',
  responses: {
    200: jsonContent('The exports.', ExportList, {
      'Cache-Control': textHeader('`private, no-store`.'),
    }),
    ...problemResponses([...accessCodes('key'), 'invalid_parameter']),
  },
}

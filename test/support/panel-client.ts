/** Reads panels and checks that they match their documentation. */
import { expect } from 'bun:test'

import { Value } from '@sinclair/typebox/value'

import { PanelList } from '#src/features/panel/schema.ts'

import { type Params, readProblem, type Send, withParams } from './page-client.ts'

export const PANEL_PATH = '/v1/btc/panel'

export type PanelRow = Record<string, unknown> & { conditionId: string; offset: string; ts: string }

export async function readPanel(send: Send, params: Params) {
  const response = await send(
    withParams(PANEL_PATH, { timeframe: '5m', offsets: '-60s', ...params }),
  )
  const text = await response.text()
  const body: unknown = JSON.parse(text)
  expect([response.status, ...Value.Errors(PanelList, body)]).toEqual([200])
  const { data, nextCursor } = body as { data: PanelRow[]; nextCursor: string | null }
  return { text, data, nextCursor, headers: response.headers }
}

export async function refusalOf(send: Send, params: Params) {
  const address = withParams(PANEL_PATH, { timeframe: '5m', offsets: '-60s', ...params })
  return readProblem(await send(address))
}

/** A reader of pages that checks every response. */
import { expect } from 'bun:test'

import { Value } from '@sinclair/typebox/value'

import { Problem } from '#src/http/problem.ts'

export type Send = (path: string, init?: RequestInit) => Promise<Response>
export type Params = Record<string, string | number>

/** A row of any list, with the members that distinguish rows. */
export type Row = { id: string; conditionId: string; timestamp: string; outcome: string }
export type Envelope = { data: Row[]; nextCursor: string | null }
export type PageAnswer = { text: string; body: Envelope; headers: Headers; resumeCursor: string }

/** Sets parameters of an address, replacing existing ones. */
export function withParams(address: string, params: Params): string {
  const [path = '', query] = address.split('?')
  const search = new URLSearchParams(query)
  for (const [name, value] of Object.entries(params)) search.set(name, String(value))
  return `${path}?${search}`
}

/** Reads a response that must be a page. */
export async function readPage(send: Send, path: string, params: Params = {}): Promise<PageAnswer> {
  const response = await send(withParams(path, params))
  const text = await response.text()
  if (response.status !== 200) expect([response.status, text]).toEqual([200, ''])
  const resumeCursor = response.headers.get('x-resume-cursor') ?? ''
  return { text, body: JSON.parse(text) as Envelope, headers: response.headers, resumeCursor }
}

/** Follows `nextCursor` to the end, with alternating limits. */
export async function walk(
  send: Send,
  path: string,
  { params = {}, limits = [100] }: { params?: Params; limits?: readonly number[] },
): Promise<PageAnswer[]> {
  const pages: PageAnswer[] = []
  let cursor: string | null = null
  do {
    const limit = limits[pages.length % limits.length] ?? 1
    const place: Params = cursor === null ? {} : { cursor }
    const page = await readPage(send, path, { ...params, limit, ...place })
    pages.push(page)
    cursor = page.body.nextCursor
  } while (cursor !== null && pages.length < 10_000)
  return pages
}

/** Reads a response that must be a complete problem document. */
export async function readProblem(response: Response): Promise<Problem> {
  expect(response.headers.get('content-type')).toBe('application/problem+json')
  expect(response.headers.get('cache-control')).toBe('no-store')
  const body: unknown = await response.json()
  expect([...Value.Errors(Problem, body)]).toEqual([])
  // The schema was validated just above.
  const problem = body as Problem
  expect([problem.status, problem.error]).toEqual([response.status, problem.code])
  expect(problem.requestId).toBe(response.headers.get('x-request-id') ?? 'none')
  return problem
}

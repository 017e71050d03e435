import { Elysia } from 'elysia'

import { type AccessPlugin, callerOf } from '#src/http/access.ts'
import { readBody } from '#src/http/body.ts'
import type { Idempotency } from '#src/http/idempotency.ts'
import { jsonResponse } from '#src/http/json.ts'
import { NoQuery, parseQuery } from '#src/http/query.ts'
import { searchOf } from '#src/http/url.ts'

import {
  challengeDetail,
  listDetail,
  revokeDetail,
  rotateDetail,
  signupDetail,
} from './documentation.ts'
import { ChallengeBody, RotateBody, SignupBody } from './model.ts'
import type { KeyService } from './service.ts'

type Deps = { guard: AccessPlugin; service: KeyService; idempotency: Idempotency }
type Parts = Omit<Deps, 'guard'>

const noStore = { 'Cache-Control': 'no-store' }

/** `/v1/keys`: from a wallet to a key, and what is done with keys. */
export const keys = ({ guard, ...parts }: Deps) =>
  new Elysia({ name: 'keys' })
    .use(guard)
    // The bodies are read by `readBody`, which Elysia must leave something to read. The details are
    // copied because Elysia adds `security` to what it is given.
    .post('/v1/keys/challenge', ({ request }) => challenge(parts, request), {
      access: 'signup',
      parse: 'none',
      detail: { ...challengeDetail },
    })
    .post('/v1/keys', ({ request }) => signup(parts, request), {
      access: 'signup',
      parse: 'none',
      detail: { ...signupDetail },
    })
    .get('/v1/keys', ({ request }) => list(parts, request), {
      access: 'key',
      detail: { ...listDetail },
    })
    .post('/v1/keys/:id/rotate', ({ request, params }) => rotate(parts, request, params.id), {
      access: 'key',
      parse: 'none',
      detail: { ...rotateDetail },
    })
    .delete('/v1/keys/:id', ({ request, params }) => revoke(parts, request, params.id), {
      access: 'key',
      parse: 'none',
      detail: { ...revokeDetail },
    })

async function challenge({ service }: Parts, request: Request): Promise<Response> {
  parseQuery(NoQuery, searchOf(request.url))
  const { address } = await readBody(ChallengeBody, request)
  return jsonResponse(await service.challenge(address), { headers: noStore })
}

async function signup({ service, idempotency }: Parts, request: Request): Promise<Response> {
  parseQuery(NoQuery, searchOf(request.url))
  const body = await readBody(SignupBody, request)
  const call = {
    scope: await service.scopeOf(body.message),
    secret: body.signature,
    body: JSON.stringify(body),
  }
  return idempotency.answer(request, call, () => service.prepare(body))
}

function list({ service }: Parts, request: Request): Response {
  parseQuery(NoQuery, searchOf(request.url))
  return jsonResponse(service.list(callerOf(request)), { headers: noStore })
}

async function rotate(parts: Parts, request: Request, id: string): Promise<Response> {
  parseQuery(NoQuery, searchOf(request.url))
  const caller = callerOf(request)
  const body = await readBody(RotateBody, request)
  const call = {
    scope: `rotate ${caller.accountId}`,
    secret: tokenOf(request),
    body: JSON.stringify(body),
  }
  return parts.idempotency.answer(
    request,
    call,
    async () => (keep) => parts.service.rotate({ caller, id }, body, keep),
  )
}

function revoke({ service }: Parts, request: Request, id: string): Response {
  parseQuery(NoQuery, searchOf(request.url))
  service.revoke({ caller: callerOf(request), id })
  return new Response(null, { status: 204, headers: noStore })
}

/** The key that the request came with, behind the name of the scheme. */
function tokenOf(request: Request): string {
  const authorization = request.headers.get('authorization') ?? ''
  return authorization.slice(authorization.indexOf(' ')).trim()
}

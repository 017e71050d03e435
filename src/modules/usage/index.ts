import { Elysia } from 'elysia'

import { accessCodes, type AccessPlugin, callerOf } from '#src/http/access.ts'
import { jsonResponse } from '#src/http/json.ts'
import { jsonContent, problemResponses, textHeader } from '#src/http/openapi-operation.ts'
import { NoQuery, parseQuery } from '#src/http/query.ts'
import { searchOf } from '#src/http/url.ts'

import { UsageBody } from './model.ts'
import type { UsageService } from './service.ts'

type Deps = { guard: AccessPlugin; service: UsageService }

const noStore = { headers: { 'Cache-Control': 'no-store' } }

/** `GET /v1/usage` shows a caller its tier, its allowances and what it has used. */
export const usage = ({ guard, service }: Deps) =>
  new Elysia({ name: 'usage' }).use(guard).get(
    '/v1/usage',
    ({ request }) => {
      parseQuery(NoQuery, searchOf(request.url))
      return jsonResponse(service.usage(callerOf(request)), noStore)
    },
    {
      access: 'key',
      detail: {
        tags: ['account'],
        operationId: 'getUsage',
        summary: 'Your tier, allowances and usage',
        description:
          'The allowances are those of the key that asks; requests and bytes are those of all keys of the account.',
        responses: {
          200: jsonContent('What you may use and have used.', UsageBody, {
            'Cache-Control': textHeader('`no-store`.'),
          }),
          ...problemResponses(['invalid_parameter', ...accessCodes('key'), 'internal']),
        },
      },
    },
  )

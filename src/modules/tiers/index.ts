import { Elysia } from 'elysia'

import { accessCodes, type AccessPlugin } from '#src/http/access.ts'
import { jsonResponse } from '#src/http/json.ts'
import { jsonContent, problemResponses, textHeader } from '#src/http/openapi-operation.ts'
import { NoQuery, parseQuery } from '#src/http/query.ts'
import { searchOf } from '#src/http/url.ts'
import type { Tier } from '#src/selling/tier.ts'

import { TierList } from './model.ts'
import { toTierBody } from './service.ts'

type Deps = { guard: AccessPlugin; listTiers: () => readonly Tier[] }

/** The operator may change the catalogue at any time. */
const noCache = { headers: { 'Cache-Control': 'no-cache' } }

/** `GET /v1/billing/tiers` shows what there is to buy. */
export const tiers = ({ guard, listTiers }: Deps) =>
  new Elysia({ name: 'tiers' }).use(guard).get(
    '/v1/billing/tiers',
    ({ request }) => {
      parseQuery(NoQuery, searchOf(request.url))
      return jsonResponse(listTiers().map(toTierBody), noCache)
    },
    {
      access: 'open',
      detail: {
        tags: ['billing'],
        operationId: 'listTiers',
        summary: 'The catalogue of tiers',
        description: 'The live catalogue. What was bought stays as it was when it was bought.',
        responses: {
          200: jsonContent('The catalogue.', TierList, {
            'Cache-Control': textHeader('`no-cache`.'),
          }),
          ...problemResponses(['invalid_parameter', ...accessCodes('open'), 'internal']),
        },
      },
    },
  )

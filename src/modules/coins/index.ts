import { Elysia } from 'elysia'

import { accessCodes, type AccessPlugin } from '#src/http/access.ts'
import { answerData, dataHeaderTexts, notModified } from '#src/http/data-response.ts'
import { jsonContent, problemResponses } from '#src/http/openapi-operation.ts'
import { NoQuery, parseQuery } from '#src/http/query.ts'
import { synchronous } from '#src/http/synchronous.ts'
import { searchOf } from '#src/http/url.ts'

import { CoinList } from './model.ts'
import type { CoinService } from './service.ts'

type Deps = { guard: AccessPlugin; service: CoinService }

const detail = {
  tags: ['markets'],
  operationId: 'listCoins',
  summary: 'The coins',
  description: 'What is recorded of each coin. Needs no key: everybody may see what there is.',
  responses: {
    200: jsonContent('The coins.', CoinList, dataHeaderTexts),
    ...notModified(),
    ...problemResponses([...accessCodes('open'), 'invalid_parameter', 'damaged', 'internal']),
  },
}

/** `GET /v1/coins`: what there is of each coin. */
export const coinCatalogue = ({ guard, service }: Deps) =>
  new Elysia({ name: 'coins' }).use(guard).get(
    '/v1/coins',
    synchronous(({ request }: { request: Request }) => {
      parseQuery(NoQuery, searchOf(request.url))
      return answerData(request, { body: JSON.stringify(service.list()), isClosed: false })
    }),
    // A copy: Elysia adds `security` to what it is given.
    { access: 'open', detail: { ...detail } },
  )

/** A route of an Elysia app alone, which validates by schemas as the routes of the API do. */
import type { Static, TObject } from '@sinclair/typebox'
import { Elysia } from 'elysia'

import { parseBody } from '#src/http/body.ts'
import { toOwnError } from '#src/http/problem.ts'
import { searchOf } from '#src/http/target.ts'
import { assertQuery } from '#src/http/validation.ts'

const config = { aot: true, normalize: false } as const

/** Sends a request; returns what the handler finds in `part`, and throws what the request fails with. */
async function ask(part: 'query' | 'body', schema: TObject, request: Request): Promise<unknown> {
  let found: unknown
  const handle = (context: Record<typeof part, unknown>) => {
    found = context[part]
    return new Response()
  }
  const app = new Elysia(config).onError(({ error }) => {
    throw toOwnError(error)
  })
  if (part === 'query') {
    app.get('/', ({ query }) => handle({ query, body: undefined }), {
      query: schema,
      transform({ request: { url } }) {
        assertQuery(searchOf(url))
      },
    })
  } else {
    app.post('/', ({ body }) => handle({ query: undefined, body }), {
      body: schema,
      parse: [({ request }) => parseBody(schema, request)],
    })
  }
  await app.fetch(request)
  return found
}

// What Elysia has validated by the schema is of its type.
export const readQuery = async <S extends TObject>(schema: S, search: string) => ({
  ...((await ask('query', schema, new Request(`http://localhost/?${search}`))) as Static<S>),
})

export const readBody = async <S extends TObject>(schema: S, request: Request) =>
  (await ask('body', schema, request)) as Static<S>

/** Parameters and bodies of routes, from the types that are generated from the API document. */
import type { paths } from './api.ts'
import type { Exact } from './numbers.ts'

/** Paths that answer `GET` with JSON. */
export type Path = {
  [P in keyof paths]: paths[P] extends { get: { responses: { 200: { content: Json } } } }
    ? P
    : never
}[keyof paths]
type Json = { 'application/json': unknown }

export type Get<P extends keyof paths> = paths[P] extends { get: infer Operation }
  ? Operation
  : never
export type Post<P extends keyof paths> = paths[P] extends { post: infer Operation }
  ? Operation
  : never

type Part<Operation, Name extends 'path' | 'query'> = Operation extends {
  parameters: { [N in Name]?: infer Values }
}
  ? [NonNullable<Values>] extends [never]
    ? unknown
    : NonNullable<Values>
  : unknown

/** What is in the path and in the query, in one object. */
export type Input<P extends keyof paths> = Part<Get<P>, 'path'> & Part<Get<P>, 'query'>
/** The same of a list; a `cursor` is that of `Walk.cursor`, where null means that it was over. */
export type ListInput<P extends keyof paths> = Omit<Input<P>, 'cursor'> & {
  cursor?: string | null | undefined
}

export type JsonOf<Operation, N> = Operation extends {
  responses: { 200: { content: { 'application/json': infer Body } } }
}
  ? Exact<Body, N>
  : never
/** The body of a route. */
export type Body<P extends keyof paths, N = number> = JsonOf<Get<P>, N>
/** A row of a list. */
export type Row<P extends keyof paths, N = number> =
  Body<P, N> extends { data: (infer Item)[] } ? Item : never

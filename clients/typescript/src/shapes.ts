/** Parameters and bodies of routes, derived from the types generated from the API document. */
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

/** Path and query parameters in one object. */
export type Input<P extends keyof paths> = Part<Get<P>, 'path'> & Part<Get<P>, 'query'>
/** The same for a list; `cursor` is that of `Walk.cursor`, where null means the walk was over. */
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

/** Members that a row has only on request: with `fields`, `view` or `interval`. */
type OnRequest = 'receivedAt' | 'sources' | 'time' | 'ageMs'
/** A row of a request without `fields`: all regular members, and those requested. */
export type Whole<R> = R extends object ? R & Required<Omit<R, OnRequest>> : R
/** A row of a request with these `fields`, or without any. */
export type RowWith<F, R> = [F] extends [undefined] ? Whole<R> : R
/** A body with such rows. */
export type BodyWith<F, B> = B extends { data: (infer Item)[] }
  ? Omit<B, 'data'> & { data: RowWith<F, Item>[] }
  : never
/** A body with one answer per requested time, each with such a book. */
export type AnswersWith<F, B> = B extends { data: (infer Item)[] }
  ? Omit<B, 'data'> & { data: AnswerWith<F, Item>[] }
  : never
type AnswerWith<F, A> = A extends { snapshot: infer Book }
  ? Omit<A, 'snapshot'> & { snapshot: RowWith<F, Book> }
  : A

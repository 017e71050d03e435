/** Texts of a route for the API document, beside its schemas. */

export type HeaderTexts = Readonly<Record<string, string>>

/** The document's text of a response, beside its schema. */
export type ResponseText = {
  status?: 200 | 201 | 202 | 204 | 206
  description: string
  /** Bodies that are not JSON. */
  content?: Record<string, { schema: { type: 'string'; format?: 'binary' } }>
  /**
   * The text of `X-Resume-Cursor` of a list with cursors. A page of a market lacks it on a 304,
   * which the document adds.
   */
  resume?: string
  /** Headers of this response, and of a 304. */
  headers?: HeaderTexts
  /** Headers that a 304 lacks. */
  bodyHeaders?: HeaderTexts
}

export type OpenApiSchema = Record<string, unknown>

export type OpenApiParameter = {
  name: string
  in: 'query' | 'path' | 'header'
  required: boolean
  description: string
  example?: unknown
  schema: OpenApiSchema
}

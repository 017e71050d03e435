/**
 * Client of a Bookfeed server: history, live streams and replay of prediction-market order books.
 * @module
 */
export { Book, type Change } from './book.ts'
export { Bookfeed, type Download } from './client.ts'
export {
  BookfeedError,
  type ClientCode,
  type ErrorCode,
  type Problem,
  type ServerCode,
} from './errors.ts'
export type { Payer, Payment, PayOptions, SignIn } from './pay.ts'
export type { Fault, Options, WebSocketLike } from './request.ts'
export type { Body, Input, ListInput, Row, Whole } from './shapes.ts'
export type { Channel, LiveQuery, Message, Places, ReplayQuery } from './stream.ts'
export type { Page, Walk } from './walk.ts'

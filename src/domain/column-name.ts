/**
 * The column of a member, in every table: lists as CSV and Parquet, exports and files of days. JSON
 * has `camelCase`, tables have `snake_case`; a member of an object within is named after both:
 * `columnName('lastTrade', 'price')` is `last_trade_price`.
 */
export const columnName = (...path: readonly string[]): string =>
  path.join('_').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
